// Random stimulus at the pins that follows the unit as it is: an NPU, a PIM and a host with back-pressure, and now and
// then garbage, commands, jumps of time and counters set near a power of two.

namespace {

template <size_t N> uint32_t one_of(Random &random, const uint32_t (&choices)[N]) { return choices[random.below(N)]; }

class Stimulus {
public:
    // `marathon`: one long sequence, most of whose tokens are right.
    Stimulus(uint64_t seed, bool marathon) : random{seed * 0x9E3779B97F4A7C15u + 1}, marathon(marathon) {
        for (int k = 0; k < 8; k++) random.next();
        pins.now = random.next();
        pim_pace = one_of(random, {1024, 1024, 300, 60, 20});
        npu_pace = one_of(random, {1024, 200, 40, 10, 3});
        ready = one_of(random, {1024, 1000, 700, 300});
        violate = one_of(random, {0, 0, 0, 1, 8});
        stop = one_of(random, {0, 0, 1, 8});
        clear = one_of(random, {0, 100, 512, 1024});
        words = one_of(random, {1, 2, 3, 64});
        last = one_of(random, {0, 20, 200, 700});
        accept = one_of(random, {0, 500, 900, 1000, 1024});
        right = one_of(random, {100, 500, 900, 1000});
        low = one_of(random, {0, 0, 128, 192});
        spread = one_of(random, {255, 255, 31, 7});
        tick = one_of(random, {0, 1, 16, 1024});
        jump = one_of(random, {0, 0, 2, 40});
        preset = one_of(random, {0, 0, 4, 40});
        reset = one_of(random, {0, 0, 0, 2});
        if (marathon) pim_pace = npu_pace = ready = 1024, violate = stop = reset = 0, words = 1, accept = 900 + random.below(125);
        for (uint32_t &word : vocabulary) word = random.next();
        configure();
    }

    // Inputs of the next cycle, from the outputs of the one before.
    const Pins &next(const Model &unit, int64_t cycle) {
        pins.reset = cycle == 0 || random.below(4000) < reset;
        if (pins.reset) {
            verifying = tasking = false;
            for (bool &input : pins.valid) input = false;
            started = cycle - random.below(200);
        }
        const uint64_t status = get(unit.p_status);
        npu(status);
        pim(status, get(unit.p_abort));
        if (random.chance(violate)) {
            const uint32_t input = random.below(INPUTS);
            if (!pins.valid[input]) offer(input, uint64_t{random.next()} | uint64_t{random.next()} << 32);
        }
        host(status, cycle);
        for (bool &output : pins.ready) output = random.chance(ready);
        return pins;
    }

    // What the cycle transferred.
    void done(const Model &unit) {
        if (get(unit.p_token____ready)) pins.valid[TOKEN] = false;
        if (get(unit.p_feedback____ready)) pins.valid[FEEDBACK] = false;
        if (get(unit.p_result____ready)) pins.valid[RESULT] = false;
        beat(get(unit.p_verify____valid) && pins.ready[VERIFY], get(unit.p_verify____payload), issued, verifying);
        beat(get(unit.p_task____valid) && pins.ready[TASK], get(unit.p_task____payload), size, tasking);
    }

private:
    Random random;
    const bool marathon;
    Pins pins;
    uint32_t pim_pace, npu_pace, ready, violate, stop, clear, words, last, accept, right, low, spread, tick, jump, preset, reset;
    uint32_t vocabulary[64];
    uint64_t issued = 0, size = 0;
    bool verifying = false, tasking = false;
    int64_t started = -1000;

    uint64_t token() { return vocabulary[random.below(words)] & ((1u << TOKEN_ID_WIDTH) - 1); }

    void offer(uint32_t input, uint64_t payload) {
        pins.valid[input] = true;
        pins.payload[input] = payload;
    }

    void npu(uint64_t status) {
        if (pins.valid[FEEDBACK] || !verifying || !field(status, STATUS_NPU_BUSY_OFFSET, 1)) return;
        if (!random.chance(npu_pace)) return;
        const uint64_t accepted = random.chance(accept) ? issued : random.below(static_cast<uint32_t>(issued) + 1);
        offer(FEEDBACK, accepted << FEEDBACK_ACCEPTED_OFFSET | token() << FEEDBACK_NEXT_OFFSET);
        verifying = false;
    }

    void pim(uint64_t status, bool abort) {
        if (pins.valid[TOKEN] || pins.valid[RESULT] || !tasking || !field(status, STATUS_TASK_OFFSET, 1)) return;
        if (!random.chance(pim_pace)) return;
        if (abort && random.below(3)) {
            offer(RESULT, uint64_t{1} << RESULT_KIND_OFFSET);
            tasking = false;
        } else if (field(status, STATUS_TASK_KIND_OFFSET, 1)) {
            const uint64_t passed = random.chance(right) ? size : random.below(static_cast<uint32_t>(size) + 1);
            offer(RESULT, passed << RESULT_PASSED_OFFSET | uint64_t{passed < size} << RESULT_HAS_FIX_OFFSET |
                              token() << RESULT_FIX_OFFSET);
            tasking = false;
        } else {
            const uint64_t entropy = low + random.below(spread + 1) & 255;
            offer(TOKEN, token() << TOKEN_ID_OFFSET | entropy << TOKEN_ENTROPY_OFFSET |
                             uint64_t{random.chance(last)} << TOKEN_LAST_OFFSET);
        }
    }

    void host(uint64_t status, int64_t cycle) {
        pins.command = 0;
        if (!field(status, STATUS_RUNNING_OFFSET, 1) && cycle - started > 200) {
            if (random.below(2)) configure();
            pins.command = uint64_t{1} << COMMAND_START_OFFSET;
            if (random.chance(clear)) pins.command |= uint64_t{1} << COMMAND_CLEAR_OFFSET;
            started = cycle;
        }
        if (cycle - started < 4 && random.chance(40)) pins.command |= uint64_t{1} << COMMAND_CONFIG_WRITE_OFFSET;
        // Software stops a sequence before its positions run out.
        const bool full = field(status, STATUS_COMMITTED_OFFSET, STATUS_COMMITTED_WIDTH) >= 64'000;
        if (full || (stop && random.below(3000) < stop)) pins.command |= uint64_t{1} << COMMAND_STOP_OFFSET;
        if (!marathon && random.below(4000) == 0) pins.command |= random.next() & 31;
        if (random.chance(tick)) pins.now += tick == 1024 ? 1 : random.below(64);
        if (random.chance(jump)) pins.now += random.next() >> random.below(32);
        pins.preset = random.chance(preset) && random.chance(256);
        if (pins.preset) pins.preset_value = static_cast<uint32_t>((uint64_t{1} << random.below(33)) - 1 - random.below(4));
    }

    void put(int offset, int width, uint64_t bits) {
        for (int k = 0; k < width; k++)
            if (bits >> k & 1) pins.config[(offset + k) / 32] |= 1u << (offset + k) % 32;
    }

    uint32_t limit(uint32_t most) {
        if (random.chance(30)) return one_of(random, {0, most + 1, random.below(2 * most)}); // may be illegal
        return one_of(random, {most, most, 1, 2, 3, 1 + random.below(most)});
    }

    uint32_t magnitude() { return one_of(random, {0, ~0u, random.next()}) >> random.below(32); }

    void configure() {
        for (uint32_t &word : pins.config) word = 0;
        put(CONFIG_EDC_OFFSET, 1, random.below(8) != 0);
        put(CONFIG_TVC_OFFSET, 1, random.below(3) != 0);
        put(CONFIG_SUPPRESS_PREVERIFY_OFFSET, 1, random.below(2));
        put(CONFIG_VERIFY_ALL_OFFSET, 1, random.below(2));
        put(CONFIG_MAX_DRAFT_OFFSET, CONFIG_MAX_DRAFT_WIDTH, marathon ? 16 : limit(16));
        put(CONFIG_VERIFY_MAX_OFFSET, CONFIG_VERIFY_MAX_WIDTH, marathon ? 32 : limit(32));
        put(CONFIG_PREVERIFY_MAX_OFFSET, CONFIG_PREVERIFY_MAX_WIDTH, marathon ? 8 : limit(8));
        const uint32_t context = one_of(random, {32767, 1, random.next() % 32768, random.next() % 32768, random.below(40)});
        put(CONFIG_CONTEXT_OFFSET, CONFIG_CONTEXT_WIDTH, context);
        put(CONFIG_PROMPT_TOKEN_OFFSET, CONFIG_PROMPT_TOKEN_WIDTH, random.next());
        put(CONFIG_NPU_PRESET_OFFSET, 32, magnitude());
        put(CONFIG_DRAFT_PRESET_OFFSET, 32, magnitude());
        put(CONFIG_PREVERIFY_PRESET_OFFSET, 32, magnitude());
    }

    static void beat(bool taken, uint64_t bits, uint64_t &tokens, bool &complete) {
        if (!taken) return;
        const uint64_t content = field(bits, REQUEST_DATA_OFFSET, REQUEST_DATA_WIDTH);
        if (field(bits, REQUEST_HEADER_OFFSET, 1)) tokens = field(content, HEADER_TOKENS_OFFSET, HEADER_TOKENS_WIDTH) - 1;
        else if (field(bits, REQUEST_LAST_OFFSET, 1)) complete = true;
    }
};

} // namespace

// The cycles in which each mutant's outputs first differ, or -1 within `cycles`; how many were run.
extern "C" __attribute__((visibility("default"))) int64_t ahasd_pins(
    const uint32_t *mutants, int64_t count, uint64_t seed, int32_t marathon, int64_t cycles, int64_t *deaths) {
    Field field_(mutants, static_cast<size_t>(count));
    Stimulus stimulus(seed, marathon);
    while (field_.cycle < cycles && !field_.over()) {
        field_.clock(stimulus.next(field_.unit, field_.cycle));
        stimulus.done(field_.unit);
    }
    field_.finish(deaths);
    return field_.cycle;
}
