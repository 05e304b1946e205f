// Runs a mutant beside the unit as it is, at their pins, cycle by cycle with the same random stimulus, until an
// output differs. Included after the generated model; PORT_FIELD constants are bit positions. The stimulus follows the
// unit as it is: an NPU, a PIM and a host with back-pressure, and now and then garbage, commands and jumps of time.

#include <cstdint>

namespace {

using Model = cxxrtl_design::p_control__unit;

struct Random {
    uint64_t state;
    uint32_t next() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return static_cast<uint32_t>(state >> 16);
    }
    uint32_t below(uint32_t n) { return next() % n; }
    bool chance(uint32_t in_1024) { return (next() & 1023) < in_1024; }
};

template <size_t BITS> const value<BITS> &current(const value<BITS> &v) { return v; }
template <size_t BITS> const value<BITS> &current(const wire<BITS> &w) { return w.curr; }

template <class Port> uint64_t get(const Port &port) {
    const auto &v = current(port);
    uint64_t bits = v.data[0];
    if (v.chunks > 1) bits |= static_cast<uint64_t>(v.data[1]) << 32;
    return bits;
}

template <size_t BITS> void set(value<BITS> &v, uint64_t bits) {
    v.data[0] = static_cast<uint32_t>(bits);
    if (BITS > 32) v.data[1] = static_cast<uint32_t>(bits >> 32);
    const size_t last = (BITS - 1) % 32 + 1;
    if (last < 32) v.data[value<BITS>::chunks - 1] &= (1u << last) - 1;
}

uint64_t field(uint64_t bits, int offset, int width) { return bits >> offset & ((uint64_t{1} << width) - 1); }

template <class A> bool same(const A &a, const A &b) { return current(a) == current(b); }

struct Stream {
    bool valid = false;
    uint64_t payload = 0;
};

bool differ(const Model &a, const Model &b) {
    if (!same(a.p_clk__req, b.p_clk__req) || !same(a.p_abort, b.p_abort) || !same(a.p_error, b.p_error)) return true;
    if (!same(a.p_cause, b.p_cause) || !same(a.p_counters, b.p_counters) || !same(a.p_status, b.p_status)) return true;
    if (!same(a.p_token____ready, b.p_token____ready) || !same(a.p_feedback____ready, b.p_feedback____ready)) return true;
    if (!same(a.p_result____ready, b.p_result____ready)) return true;
    if (get(a.p_task____valid) != get(b.p_task____valid) || get(a.p_verify____valid) != get(b.p_verify____valid)) return true;
    if (get(a.p_commit____valid) != get(b.p_commit____valid)) return true;
    if (get(a.p_task____valid) && !same(a.p_task____payload, b.p_task____payload)) return true;
    if (get(a.p_verify____valid)) { // its kind counts on the task stream only
        uint64_t kind = uint64_t{1} << REQUEST_KIND_OFFSET;
        if ((get(a.p_verify____payload) | kind) != (get(b.p_verify____payload) | kind)) return true;
    }
    return get(a.p_commit____valid) && !same(a.p_commit____payload, b.p_commit____payload);
}

} // namespace

// The cycle in which the mutant's outputs first differ, or -1 within `cycles`.
extern "C" __attribute__((visibility("default"))) int64_t ahasd_compare(uint32_t mutant, uint64_t seed, int64_t cycles) {
    Random random{seed * 0x9E3779B97F4A7C15u + 1};
    for (int k = 0; k < 8; k++) random.next();
    Model units[2];
    Stream inputs[3]; // token, feedback, result
    units[1].p_mutsel.set<uint32_t>(mutant);
    uint32_t now = random.next();
    uint64_t issued = 0, size = 0;
    bool verifying = false, tasking = false;
    uint32_t pace = 20 + random.below(300), ready = 300 + random.below(724), violate = random.below(3) ? 0 : 3;
    uint32_t stop = random.below(4) ? 0 : 1, vocabulary = 1 + random.below(3), last = 20 + random.below(700);
    uint32_t entropy_mask = random.below(2) ? 255 : 31, accept = random.below(1024), jump = random.below(3) ? 0 : 2;
    uint32_t base = random.below(2) ? 0 : 192;
    int64_t started = -1;
    uint64_t command = 0;
    auto configure = [&] {
        uint32_t words[8] = {};
        auto put = [&](int offset, int width, uint64_t v) {
            for (int k = 0; k < width; k++)
                if (v >> k & 1) words[(offset + k) / 32] |= 1u << (offset + k) % 32;
        };
        put(CONFIG_EDC_OFFSET, 1, random.below(8) != 0);
        put(CONFIG_TVC_OFFSET, 1, random.below(3) != 0);
        put(CONFIG_SUPPRESS_PREVERIFY_OFFSET, 1, random.below(2));
        put(CONFIG_VERIFY_ALL_OFFSET, 1, random.below(2));
        auto limit = [&](uint32_t most) { return random.chance(8) ? random.below(2 * most) : 1 + random.below(random.below(2) ? 3 : most) % most; };
        put(CONFIG_MAX_DRAFT_OFFSET, CONFIG_MAX_DRAFT_WIDTH, limit(16));
        put(CONFIG_VERIFY_MAX_OFFSET, CONFIG_VERIFY_MAX_WIDTH, limit(32));
        put(CONFIG_PREVERIFY_MAX_OFFSET, CONFIG_PREVERIFY_MAX_WIDTH, limit(8));
        put(CONFIG_CONTEXT_OFFSET, CONFIG_CONTEXT_WIDTH, random.below(64) ? random.next() : 0);
        put(CONFIG_PROMPT_TOKEN_OFFSET, CONFIG_PROMPT_TOKEN_WIDTH, random.next());
        put(CONFIG_NPU_PRESET_OFFSET, 32, random.next() >> random.below(32));
        put(CONFIG_DRAFT_PRESET_OFFSET, 32, random.next() >> random.below(32));
        put(CONFIG_PREVERIFY_PRESET_OFFSET, 32, random.next() >> random.below(32));
        for (auto &unit : units)
            for (size_t k = 0; k < unit.p_config.chunks; k++) unit.p_config.data[k] = words[k];
    };
    configure();
    for (int64_t cycle = 0; cycle < cycles; cycle++) {
        const Model &unit = units[0];
        uint64_t status = get(unit.p_status);
        bool running = field(status, STATUS_RUNNING_OFFSET, 1), npu = field(status, STATUS_NPU_BUSY_OFFSET, 1);
        bool task = field(status, STATUS_TASK_OFFSET, 1), preverify = field(status, STATUS_TASK_KIND_OFFSET, 1);
        bool abort = get(unit.p_abort);
        auto token = [&] { return uint64_t{random.below(vocabulary)} * 0x15555; };
        // What the NPU and the PIM offer.
        if (!inputs[1].valid && verifying && npu && random.chance(pace / 4 + 1)) {
            uint64_t accepted = random.chance(accept) ? issued : random.below(static_cast<uint32_t>(issued) + 1);
            inputs[1] = {true, accepted << FEEDBACK_ACCEPTED_OFFSET | token() << FEEDBACK_NEXT_OFFSET};
            verifying = false;
        }
        if (!inputs[0].valid && !inputs[2].valid && tasking && task && random.chance(pace)) {
            if (abort && random.below(3)) {
                inputs[2] = {true, uint64_t{1} << RESULT_KIND_OFFSET};
                tasking = false;
            } else if (preverify) {
                uint64_t passed = random.below(static_cast<uint32_t>(size) + 1);
                bool fix = passed < size;
                inputs[2] = {true, passed << RESULT_PASSED_OFFSET | uint64_t{fix} << RESULT_HAS_FIX_OFFSET | token() << RESULT_FIX_OFFSET};
                tasking = false;
            } else {
                uint64_t entropy = (base + (random.next() & entropy_mask)) & 255;
                inputs[0] = {true, token() << TOKEN_ID_OFFSET | entropy << TOKEN_ENTROPY_OFFSET | uint64_t{random.chance(last)} << TOKEN_LAST_OFFSET};
            }
        }
        if (violate && random.chance(violate)) {
            auto &input = inputs[random.below(3)];
            if (!input.valid) input = {true, uint64_t{random.next()} | uint64_t{random.next()} << 32};
        }
        command = 0;
        if (!running && cycle - started > 200) {
            if (random.below(2)) configure();
            command = uint64_t{1} << COMMAND_START_OFFSET;
            if (!random.below(8)) command |= uint64_t{1} << COMMAND_CLEAR_OFFSET;
            started = cycle;
        }
        if (stop && random.below(3000) == 0) command |= uint64_t{1} << COMMAND_STOP_OFFSET;
        if (random.below(4000) == 0) command |= random.next() & 31;
        now += random.below(16) ? 0 : random.below(64);
        if (jump && random.chance(jump)) now += random.next() >> random.below(24);
        bool ready_task = random.chance(ready), ready_verify = random.chance(ready), ready_commit = random.chance(ready);
        for (auto &u : units) {
            u.p_rst.set<bool>(cycle == 0);
            u.p_clk.set<bool>(false);
            set(u.p_token____payload, inputs[0].payload);
            set(u.p_feedback____payload, inputs[1].payload);
            set(u.p_result____payload, inputs[2].payload);
            u.p_token____valid.set<bool>(inputs[0].valid);
            u.p_feedback____valid.set<bool>(inputs[1].valid);
            u.p_result____valid.set<bool>(inputs[2].valid);
            u.p_task____ready.set<bool>(ready_task);
            u.p_verify____ready.set<bool>(ready_verify);
            u.p_commit____ready.set<bool>(ready_commit);
            set(u.p_now, now);
            set(u.p_command, command);
            u.step();
        }
        if (cycle > 0 && differ(units[0], units[1])) return cycle;
        if (inputs[0].valid && get(unit.p_token____ready)) inputs[0].valid = false;
        if (inputs[1].valid && get(unit.p_feedback____ready)) inputs[1].valid = false;
        if (inputs[2].valid && get(unit.p_result____ready)) inputs[2].valid = false;
        auto beat = [&](bool valid, bool taken, uint64_t bits, uint64_t &tokens, bool &done) {
            if (!valid || !taken) return;
            uint64_t content = field(bits, REQUEST_DATA_OFFSET, REQUEST_DATA_WIDTH);
            if (field(bits, REQUEST_HEADER_OFFSET, 1)) tokens = field(content, HEADER_TOKENS_OFFSET, HEADER_TOKENS_WIDTH) - 1;
            else if (field(bits, REQUEST_LAST_OFFSET, 1)) done = true;
        };
        beat(get(unit.p_verify____valid), ready_verify, get(unit.p_verify____payload), issued, verifying);
        beat(get(unit.p_task____valid), ready_task, get(unit.p_task____payload), size, tasking);
        for (auto &u : units) {
            u.p_clk.set<bool>(true);
            u.step();
        }
    }
    return -1;
}
