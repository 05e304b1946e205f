// Plays recorded events: each is presented when the unit as it is rests, with its reading of the timebase.

// Words of a script: start = {1, now, config...}; event = {0, now, input, payload low, high}.
// `ready` in 1024 is the chance that an output is taken in a cycle; 1024: always.
extern "C" __attribute__((visibility("default"))) int64_t ahasd_script(
    const uint32_t *mutants, int64_t count, const uint32_t *words, int64_t length, uint32_t ready, int64_t *deaths) {
    Field field_(mutants, static_cast<size_t>(count));
    Random random{ready * 0x9E3779B97F4A7C15u + 1};
    Pins pins;
    auto clock = [&] {
        for (bool &output : pins.ready) output = random.chance(ready);
        field_.clock(pins);
    };
    constexpr int64_t MOST = 100'000; // cycles for an event: more is a hang
    auto rest = [&] {
        for (int64_t k = 0; get(field_.unit.p_clk__req); k++) {
            if (k > MOST) __builtin_trap();
            clock();
        }
    };
    pins.reset = true;
    clock();
    pins.reset = false;
    clock();
    rest();
    int64_t at = 0;
    while (at < length && !field_.over()) {
        const bool start = words[at];
        pins.now = words[at + 1];
        at += 2;
        if (start) {
            for (uint32_t &word : pins.config) word = words[at++];
            pins.command = uint64_t{1} << COMMAND_START_OFFSET;
            clock();
            pins.command = 0;
        } else {
            const uint32_t input = words[at];
            pins.payload[input] = words[at + 1] | uint64_t{words[at + 2]} << 32;
            pins.valid[input] = true;
            at += 3;
            for (bool taken = false; !taken;) {
                clock();
                taken = input == TOKEN      ? get(field_.unit.p_token____ready)
                        : input == FEEDBACK ? get(field_.unit.p_feedback____ready)
                                            : get(field_.unit.p_result____ready);
            }
            pins.valid[input] = false;
        }
        clock();
        rest();
    }
    field_.finish(deaths);
    return field_.cycle;
}
