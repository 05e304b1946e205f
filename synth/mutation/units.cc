// The unit and its mutants at their pins. A stretch of cycles is recorded on the unit as it is (inputs, and a digest
// of the outputs of every cycle), then played to each mutant, which dies in the first cycle whose outputs differ.
// Included after the generated model; PORT_FIELD constants are bit positions.

#include <cstdint>
#include <memory>
#include <vector>

namespace {

using Model = cxxrtl_design::p_control__unit;

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

enum { TOKEN, FEEDBACK, RESULT, INPUTS };
enum { TASK, VERIFY, COMMIT, OUTPUTS };
constexpr size_t CONFIG_WORDS = 5;

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

// Inputs of a cycle.
struct Pins {
    bool reset = false, preset = false;
    bool valid[INPUTS] = {};
    bool ready[OUTPUTS] = {};
    uint64_t payload[INPUTS] = {};
    uint64_t command = 0;
    uint32_t now = 0, preset_value = 0; // of the counters: a back door, see library.py
    uint32_t config[CONFIG_WORDS] = {};
};

void apply(Model &unit, const Pins &pins) {
    unit.p_rst.set<bool>(pins.reset);
    set(unit.p_token____payload, pins.payload[TOKEN]);
    set(unit.p_feedback____payload, pins.payload[FEEDBACK]);
    set(unit.p_result____payload, pins.payload[RESULT]);
    unit.p_token____valid.set<bool>(pins.valid[TOKEN]);
    unit.p_feedback____valid.set<bool>(pins.valid[FEEDBACK]);
    unit.p_result____valid.set<bool>(pins.valid[RESULT]);
    unit.p_task____ready.set<bool>(pins.ready[TASK]);
    unit.p_verify____ready.set<bool>(pins.ready[VERIFY]);
    unit.p_commit____ready.set<bool>(pins.ready[COMMIT]);
    set(unit.p_now, pins.now);
    set(unit.p_command, pins.command);
    unit.p_backdoor__load.set<bool>(pins.preset);
    set(unit.p_backdoor__value, pins.preset_value);
    static_assert(value<CONFIG_WIDTH>::chunks == CONFIG_WORDS, "of the configuration");
    for (size_t k = 0; k < CONFIG_WORDS; k++) unit.p_config.data[k] = pins.config[k];
    const size_t last = (CONFIG_WIDTH - 1) % 32 + 1;
    if (last < 32) unit.p_config.data[CONFIG_WORDS - 1] &= (1u << last) - 1;
}

// One evaluation does for an edge: outputs are those before it, and what registers will hold is noted but not yet
// taken over (that is `commit`). No logic depends on the clock's level, and the netlist has no feedback.
void evaluate(Model &unit) {
    unit.prev_p_clk.set<bool>(false);
    unit.p_clk.set<bool>(true);
    if (!unit.eval()) __builtin_trap(); // delta cycles would be needed
}

// What another block sees of a cycle. Payloads count while they are valid; the kind only on the task stream; the
// tokens of a task that is aborted before it was taken may be anything.
uint64_t digest(const Model &unit) {
    uint64_t sum = 0xcbf29ce484222325u;
    auto add = [&](uint64_t bits) { sum = (sum ^ bits) * 0x9E3779B97F4A7C15u, sum ^= sum >> 29; };
    const bool task = get(unit.p_task____valid), verify = get(unit.p_verify____valid), commit = get(unit.p_commit____valid);
    add(get(unit.p_clk__req) | get(unit.p_abort) << 1 | get(unit.p_error) << 2 | get(unit.p_token____ready) << 3 |
        get(unit.p_feedback____ready) << 4 | get(unit.p_result____ready) << 5 | uint64_t{task} << 6 |
        uint64_t{verify} << 7 | uint64_t{commit} << 8 | get(unit.p_cause) << 9);
    add(get(unit.p_status));
    const auto &counters = current(unit.p_counters);
    for (size_t k = 0; k < counters.chunks; k++) add(counters.data[k]);
    const uint64_t content = ((uint64_t{1} << REQUEST_DATA_WIDTH) - 1) << REQUEST_DATA_OFFSET;
    if (task) {
        uint64_t beat = get(unit.p_task____payload);
        if (get(unit.p_abort) && !field(beat, REQUEST_HEADER_OFFSET, 1)) beat &= ~content;
        add(beat);
    }
    if (verify) add(get(unit.p_verify____payload) | uint64_t{1} << REQUEST_KIND_OFFSET);
    if (commit) add(get(unit.p_commit____payload));
    return sum;
}

// A mutant under test: `died` is the first cycle that differs, or -1.
struct Lane {
    Model unit;
    int64_t died = -1;
};

class Field {
public:
    Model unit; // as it is
    int64_t cycle = 0;

    Field(const uint32_t *mutants, size_t count) {
        for (size_t k = 0; k < count; k++) {
            lanes.push_back(std::make_unique<Lane>());
            lanes.back()->unit.p_mutsel.set<uint32_t>(mutants[k]);
        }
        alive = count;
        stretch.reserve(STRETCH);
    }

    // Runs a cycle of the unit; its outputs before the edge can be looked at afterwards.
    void clock(const Pins &pins) {
        unit.commit(); // of the cycle before
        apply(unit, pins);
        evaluate(unit);
        stretch.push_back({pins, digest(unit)});
        cycle++;
        if (stretch.size() == STRETCH) play();
    }

    bool over() const { return alive == 0; }

    void finish(int64_t *deaths) {
        play();
        for (size_t k = 0; k < lanes.size(); k++) deaths[k] = lanes[k]->died;
    }

private:
    static constexpr size_t STRETCH = 4096;
    struct Cycle {
        Pins pins;
        uint64_t outputs;
    };
    std::vector<Cycle> stretch;
    std::vector<std::unique_ptr<Lane>> lanes;
    size_t alive;

    void play() {
        const int64_t first = cycle - static_cast<int64_t>(stretch.size());
        for (auto &lane : lanes) {
            if (lane->died >= 0) continue;
            for (size_t k = 0; k < stretch.size(); k++) {
                apply(lane->unit, stretch[k].pins);
                evaluate(lane->unit);
                // The first cycle is that of power-up, which reset has yet to set.
                if (first + k > 0 && digest(lane->unit) != stretch[k].outputs) {
                    lane->died = first + static_cast<int64_t>(k);
                    alive--;
                    break;
                }
                lane->unit.commit();
            }
        }
        stretch.clear();
    }
};

} // namespace
