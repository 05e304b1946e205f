// A gate-level netlist with the members of a CXXRTL model, so that the engine's glue code drives it too.
// Before it come the tables: NETS, gates in order of level, flip-flops. Zero delay, event-driven: a gate is
// looked at when an input has changed, once an evaluation. Every net counts its toggles.

#include <cxxrtl/cxxrtl.h>

#include <cstdint>
#include <vector>

using namespace cxxrtl;

namespace cxxrtl_design {

struct Netlist {
    std::vector<uint8_t> value = std::vector<uint8_t>(NETS), queued = std::vector<uint8_t>(GATES);
    std::vector<uint8_t> state = std::vector<uint8_t>(FLOPS), dirty = std::vector<uint8_t>(FLOPS);
    std::vector<uint64_t> toggles = std::vector<uint64_t>(NETS);
    std::vector<std::vector<int>> queue = std::vector<std::vector<int>>(LEVELS);
    std::vector<std::vector<int>> readers = std::vector<std::vector<int>>(NETS), latches = readers;
    std::vector<int> waiting, pending;

    Netlist() {
        for (int gate = 0; gate < GATES; gate++) {
            for (int k = 0; k < INPUTS[gate]; k++) readers[PINS[gate][k]].push_back(gate);
            wake(gate);
        }
        for (int flop = 0; flop < FLOPS; flop++) {
            latches[FLOP[flop][0]].push_back(flop);
            latches[FLOP[flop][3]].push_back(flop); // its enable
            note(flop);
        }
        value[1] = 1; // net 0 is the constant 0, net 1 the constant 1
        for (int flop = 0; flop < FLOPS; flop++)
            if (FLOP[flop][2] > 1) value[FLOP[flop][2]] = 1;
    }

    void wake(int gate) {
        if (!queued[gate]) {
            queued[gate] = 1;
            queue[LEVEL[gate]].push_back(gate);
        }
    }

    void note(int flop) {
        if (!dirty[flop]) {
            dirty[flop] = 1;
            waiting.push_back(flop);
        }
    }

    void set(int net, uint8_t to) {
        if (value[net] == to || net < 2) return;
        value[net] = to;
        toggles[net]++;
        for (int gate : readers[net]) wake(gate);
        for (int flop : latches[net]) note(flop);
    }

    void settle() {
        for (auto &level : queue) {
            for (int gate : level) {
                queued[gate] = 0;
                int row = 0;
                for (int k = 0; k < INPUTS[gate]; k++) row |= value[PINS[gate][k]] << k;
                set(OUTPUT[gate], TABLE[gate] >> row & 1);
            }
            level.clear();
        }
    }

    void edge() { // what the flip-flops will hold
        pending.clear();
        for (int flop : waiting)
            if (value[FLOP[flop][3]] && value[FLOP[flop][0]] != state[flop]) pending.push_back(flop);
    }

    bool commit() {
        if (pending.empty()) return false;
        for (int flop : waiting) dirty[flop] = 0;
        waiting.clear();
        for (int flop : pending) state[flop] ^= 1;
        for (int flop : pending) {
            if (FLOP[flop][1] > 1) set(FLOP[flop][1], state[flop]);
            if (FLOP[flop][2] > 1) set(FLOP[flop][2], !state[flop]);
            note(flop); // its input may stay as it is
        }
        pending.clear();
        return true;
    }

    template <size_t BITS>
    void in(const cxxrtl::value<BITS> &port, const int *nets) {
        for (size_t k = 0; k < BITS; k++) set(nets[k], port.data[k / 32] >> k % 32 & 1);
    }

    template <size_t BITS>
    void out(cxxrtl::value<BITS> &port, const int *nets) const {
        for (size_t k = 0; k < port.chunks; k++) port.data[k] = 0;
        for (size_t k = 0; k < BITS; k++) port.data[k / 32] |= uint32_t{value[nets[k]]} << k % 32;
    }
};

} // namespace cxxrtl_design
