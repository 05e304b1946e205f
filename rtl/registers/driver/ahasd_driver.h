/* Minimal driver of AHASD's control registers. */
#ifndef AHASD_DRIVER_H
#define AHASD_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "ahasd_registers.h"

/* How registers are reached; both calls move one 32-bit word. */
struct ahasd_bus {
    uint32_t (*read)(void *context, uint32_t offset);
    void (*write)(void *context, uint32_t offset, uint32_t word);
    void *context;
};

struct ahasd_config {
    bool edc, tvc, suppress_preverify, verify_all;
    uint32_t max_draft, verify_max, preverify_max;
    uint32_t context;      /* prompt tokens */
    uint32_t prompt_token; /* id of the last one */
    uint32_t npu_preset, draft_preset, preverify_preset; /* ticks, UQ24.8 */
    uint16_t draft_ranks, target_ranks;
};

enum ahasd_result {
    AHASD_OK = 0,
    AHASD_NOT_FOUND = -1, /* no such block, or registers of another major version */
    AHASD_BUSY = -2,      /* a sequence runs */
    AHASD_REFUSED = -3,   /* ERRORS says why */
    AHASD_TIMEOUT = -4,
};

/* Look for the block, stop what runs, clear errors, enable the interrupts of errors and resets. */
int ahasd_init(const struct ahasd_bus *bus, unsigned polls);

/* Configure and start a sequence. */
int ahasd_start(const struct ahasd_bus *bus, const struct ahasd_config *config);

/* Stop the sequence and wait for its end. */
int ahasd_stop(const struct ahasd_bus *bus, unsigned polls);

/* After a reset of the NPU side: wait for the end of the sequence and start it again after what was
 * committed. `last_token` is the last committed token; the host has it from the commit stream. */
int ahasd_resume(const struct ahasd_bus *bus, struct ahasd_config *config, uint32_t last_token, unsigned polls);

/* Bits of INTERRUPT_STATUS that were set; they are cleared. */
uint32_t ahasd_acknowledge(const struct ahasd_bus *bus);

/* A consistent set of counters: AHASD_COUNTERS words, in the order of the registers from PREDICTIONS on. */
#define AHASD_COUNTERS ((AHASD_PIM_PREVERIFY - AHASD_PREDICTIONS) / 4 + 1)
void ahasd_counters(const struct ahasd_bus *bus, uint32_t counters[AHASD_COUNTERS]);

#endif
