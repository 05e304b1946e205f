// Shared by the clock loops of the control unit (glue.cc) and of the top (top.cc), which are included after it
// and after the generated model; the constants before it are the bit positions of the ports' fields.

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

// What an output is: a kind with its edge and values. See engine.py and top.py for the Python side.
enum Record : uint64_t { TAKEN = 0, STARTED = 1, COMMITTED = 2, ABORTED = 3, VERIFY = 4, DRAFT = 5, PREVERIFY = 6 };
enum { TOKEN, FEEDBACK, RESULT, SLOTS };
constexpr int64_t NEVER = INT64_MAX;

template <size_t BITS>
uint64_t get(const value<BITS> &v) {
    uint64_t bits = v.data[0];
    if constexpr (BITS > 32) bits |= static_cast<uint64_t>(v.data[1]) << 32;
    return bits;
}

template <size_t BITS> // an output that is a register
uint64_t get(const wire<BITS> &w) {
    return get(w.curr);
}

template <size_t BITS>
const value<BITS> &current(const value<BITS> &v) {
    return v;
}

template <size_t BITS>
const value<BITS> &current(const wire<BITS> &w) {
    return w.curr;
}

template <size_t BITS>
void set(value<BITS> &v, uint64_t bits) {
    v.data[0] = static_cast<uint32_t>(bits);
    if constexpr (BITS > 32) v.data[1] = static_cast<uint32_t>(bits >> 32);
}

uint64_t field(uint64_t bits, int offset, int width) { return bits >> offset & ((uint64_t{1} << width) - 1); }

// What stands at an input of the unit or the top.
template <class Model>
void offer(Model &model, int slot, uint64_t payload, bool valid) {
    switch (slot) {
    case TOKEN:
        set(model.p_token____payload, payload);
        model.p_token____valid.template set<bool>(valid);
        break;
    case FEEDBACK:
        set(model.p_feedback____payload, payload);
        model.p_feedback____valid.template set<bool>(valid);
        break;
    default:
        set(model.p_result____payload, payload);
        model.p_result____valid.template set<bool>(valid);
    }
}

// A request as its beats come: position, then tokens.
struct Request {
    std::vector<uint64_t> words;

    bool header(uint64_t beat) const { return field(beat, REQUEST_HEADER_OFFSET, 1); }
    bool preverify(uint64_t beat) const { return field(beat, REQUEST_KIND_OFFSET, 1); }

    // A beat is taken; true with the last one.
    bool take(uint64_t beat) {
        uint64_t data = field(beat, REQUEST_DATA_OFFSET, REQUEST_DATA_WIDTH);
        if (header(beat)) {
            words.assign(1, field(data, HEADER_POSITION_OFFSET, HEADER_POSITION_WIDTH));
            return false;
        }
        words.push_back(data);
        return field(beat, REQUEST_LAST_OFFSET, 1);
    }
};

struct Recorder {
    std::vector<uint64_t> out;

    void record(int64_t edge, uint64_t kind, const std::vector<uint64_t> &values = {}) {
        out.push_back(static_cast<uint64_t>(edge));
        out.push_back(kind);
        out.push_back(values.size());
        out.insert(out.end(), values.begin(), values.end());
    }
};

} // namespace
