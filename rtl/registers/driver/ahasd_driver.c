/* Minimal driver of AHASD's control registers; see ahasd_driver.h. */
#include "ahasd_driver.h"

#define FIELD(register, field, value) \
    (((uint32_t)(value) << AHASD_##register##_##field##_SHIFT) & AHASD_##register##_##field##_MASK)

static uint32_t get(const struct ahasd_bus *bus, uint32_t offset) {
    return bus->read(bus->context, offset);
}

static void set(const struct ahasd_bus *bus, uint32_t offset, uint32_t word) {
    bus->write(bus->context, offset, word);
}

static int wait_for_end(const struct ahasd_bus *bus, unsigned polls) {
    while (get(bus, AHASD_STATUS) & (AHASD_STATUS_RUNNING_MASK | AHASD_STATUS_RECOVERING_MASK)) {
        if (polls-- == 0)
            return AHASD_TIMEOUT;
    }
    return AHASD_OK;
}

int ahasd_init(const struct ahasd_bus *bus, unsigned polls) {
    if (get(bus, AHASD_ID) != AHASD_ID_RESET)
        return AHASD_NOT_FOUND;
    if ((get(bus, AHASD_VERSION) & AHASD_VERSION_MAJOR_MASK) != (AHASD_VERSION_RESET & AHASD_VERSION_MAJOR_MASK))
        return AHASD_NOT_FOUND;
    int result = ahasd_stop(bus, polls);
    if (result != AHASD_OK)
        return result;
    set(bus, AHASD_CONTROL, AHASD_CONTROL_CLEAR_ERRORS_MASK);
    ahasd_acknowledge(bus);
    set(bus, AHASD_INTERRUPT_ENABLE, AHASD_INTERRUPT_ENABLE_ERROR_MASK | AHASD_INTERRUPT_ENABLE_NPU_RESET_MASK);
    return AHASD_OK;
}

int ahasd_start(const struct ahasd_bus *bus, const struct ahasd_config *config) {
    if (get(bus, AHASD_STATUS) & (AHASD_STATUS_RUNNING_MASK | AHASD_STATUS_RECOVERING_MASK))
        return AHASD_BUSY;
    uint32_t before = get(bus, AHASD_ERRORS);
    set(bus, AHASD_POLICY,
        FIELD(POLICY, EDC, config->edc) | FIELD(POLICY, TVC, config->tvc) |
            FIELD(POLICY, SUPPRESS_PREVERIFY, config->suppress_preverify) |
            FIELD(POLICY, VERIFY_ALL, config->verify_all));
    set(bus, AHASD_LIMITS,
        FIELD(LIMITS, MAX_DRAFT, config->max_draft) | FIELD(LIMITS, VERIFY_MAX, config->verify_max) |
            FIELD(LIMITS, PREVERIFY_MAX, config->preverify_max));
    set(bus, AHASD_CONTEXT, config->context);
    set(bus, AHASD_PROMPT_TOKEN, config->prompt_token);
    set(bus, AHASD_NPU_PRESET, config->npu_preset);
    set(bus, AHASD_DRAFT_PRESET, config->draft_preset);
    set(bus, AHASD_PREVERIFY_PRESET, config->preverify_preset);
    set(bus, AHASD_RANKS,
        FIELD(RANKS, DRAFT_RANKS, config->draft_ranks) | FIELD(RANKS, TARGET_RANKS, config->target_ranks));
    set(bus, AHASD_CONTROL, AHASD_CONTROL_START_MASK);
    return get(bus, AHASD_ERRORS) & ~before ? AHASD_REFUSED : AHASD_OK;
}

int ahasd_stop(const struct ahasd_bus *bus, unsigned polls) {
    set(bus, AHASD_CONTROL, AHASD_CONTROL_STOP_MASK);
    return wait_for_end(bus, polls);
}

int ahasd_resume(const struct ahasd_bus *bus, struct ahasd_config *config, uint32_t last_token, unsigned polls) {
    int result = wait_for_end(bus, polls);
    if (result != AHASD_OK)
        return result;
    uint32_t committed = get(bus, AHASD_COMMITTED);
    if (committed != 0) {
        config->context += committed;
        config->prompt_token = last_token;
    }
    set(bus, AHASD_CONTROL, AHASD_CONTROL_CLEAR_ERRORS_MASK);
    return ahasd_start(bus, config);
}

uint32_t ahasd_acknowledge(const struct ahasd_bus *bus) {
    uint32_t events = get(bus, AHASD_INTERRUPT_STATUS);
    set(bus, AHASD_INTERRUPT_STATUS, events);
    return events;
}

void ahasd_counters(const struct ahasd_bus *bus, uint32_t counters[AHASD_COUNTERS]) {
    set(bus, AHASD_CONTROL, AHASD_CONTROL_SNAPSHOT_MASK);
    for (uint32_t k = 0; k < AHASD_COUNTERS; k++)
        counters[k] = get(bus, AHASD_PREDICTIONS + 4 * k);
}
