// Runs a CXXRTL top in its clock domains, with a manager on AXI4-Lite, ranks, and the PIM's duty to a request that
// is aborted before it was taken, until something comes out of it. Included after the generated model and
// common.cc. See top.py for the Python side.
//
// Edge k of the memory clock is at k x mem_ps, edge j of the NPU's at j x npu_ps from power-up on; of two edges at
// the same time the memory side's is first. What the NPU side gives counts at the next edge of the memory clock.

namespace {

using Model = cxxrtl_design::p_ahasd__top;

constexpr uint64_t ANSWER = 7;  // to an access: response, word
constexpr uint64_t INSIDE = 16; // with a kind: dealt with here, the PIM never hears of it
constexpr int QUIET = 16;
// Cycles of both clocks without anything going on, after which only the timebase moves. A payload is under way
// between the clocks for six; registers follow what they show in two.

struct Access {
    bool write;
    uint32_t address, data;
    int64_t edge; // not before
};

struct Top : Recorder {
    Model model;
    int64_t mem_ps, npu_ps;
    int64_t edge = 0, npu_next;
    int64_t driven = 0, npu_driven = 0, accesses = 0;
    int64_t wake[SLOTS] = {NEVER, NEVER, NEVER};
    uint64_t payload[SLOTS] = {};
    bool valid[SLOTS] = {};
    bool crossing = false; // a verdict has left the NPU and not reached the unit
    int64_t started_at = NEVER;
    int64_t hold = -1; // the timebase stands here
    int quiet = 0, npu_quiet = 0;
    std::vector<uint64_t> committed;
    Request verify, task;
    // The PIM: it has a task and was told to abort it; it answers an aborted request itself.
    bool has_task = false, told = false, answers = false, answering = false;
    uint64_t masks[2]; // ranks of drafts, of pre-verifications
    int64_t drain, idle_at = NEVER; // ranks stay busy for so many cycles after their task
    std::vector<Access> waiting;
    bool on_bus = false;
    uint64_t *buffer = nullptr;
    size_t buffer_words = 0;

    Top(int64_t mem, int64_t npu, uint64_t draft, uint64_t target, int64_t drain)
        : mem_ps(mem), npu_ps(npu), npu_next(npu), masks{draft, target}, drain(drain) {}

    [[gnu::noinline]] void evaluate(bool mem, bool core, bool npu) { // once, not at each call: compile time
        model.prev_p_mem__clk.set<bool>(false);
        model.prev_p_core__clk.set<bool>(false);
        model.prev_p_npu__clk.set<bool>(false);
        model.p_mem__clk.set<bool>(mem);
        model.p_core__clk.set<bool>(core);
        model.p_npu__clk.set<bool>(npu);
        model.eval();
    }

    void set_valid(int slot, bool on) {
        valid[slot] = on;
        offer(model, slot, payload[slot], on);
    }

    void ranks(uint64_t busy) {
        set(model.p_rank__busy, busy);
        set(model.p_rank__closed, ~busy & 0xFFFF);
        idle_at = NEVER;
    }

    // The timebase's registers: ticks, cycle within the tick, and that it is the tick's last.
    void set_timebase(uint64_t ticks, uint64_t cycle) {
        auto &now = model.p_timebase_2e_now;
        set(now.curr, ticks & 0xFFFFFFFF);
        now.next = now.curr;
#if TICK_BITS > 0
        auto &within = model.p_timebase_2e_cycle;
        set(within.curr, cycle);
        within.next = within.curr;
        auto &tick = model.p_timebase_2e_tick;
        set(tick.curr, cycle == (uint64_t{1} << TICK_BITS) - 1);
        tick.next = tick.curr;
#endif
    }

    uint64_t cycle() const {
#if TICK_BITS > 0
        return get(model.p_timebase_2e_cycle);
#else
        return 0;
#endif
    }

    bool status(int offset) const { return get(model.p_seen__status) >> offset & 1; }

    // What edges up to and including `last` do while all but the timebase stands: ticks are counted.
    void skip(int64_t last) {
        if (last <= edge) return;
        uint64_t before = get(model.p_timebase_2e_now) << TICK_BITS | cycle();
        uint64_t after = before + static_cast<uint64_t>(last - edge);
        uint64_t ticks = (after >> TICK_BITS) - (before >> TICK_BITS);
        set_timebase(after >> TICK_BITS, after & ((uint64_t{1} << TICK_BITS) - 1));
        if (status(STATUS_RUNNING_OFFSET)) {
            bool task = status(STATUS_TASK_OFFSET), preverify = status(STATUS_TASK_KIND_OFFSET);
            if (!status(STATUS_NPU_BUSY_OFFSET)) count(model.p_registers_2e_npu__idle, ticks);
            if (!task) count(model.p_registers_2e_pim__idle, ticks);
            if (task && !preverify) count(model.p_registers_2e_pim__draft, ticks);
            if (task && preverify) count(model.p_registers_2e_pim__preverify, ticks);
        }
        edge = last;
        int64_t behind = edge * mem_ps - npu_next;
        if (behind > 0) npu_next += (behind + npu_ps - 1) / npu_ps * npu_ps;
    }

    void count(wire<32> &counter, uint64_t ticks) {
        set(counter.curr, (get(counter.curr) + ticks) & 0xFFFFFFFF);
        counter.next = counter.curr;
    }

    // The memory side.

    void memory_edge(int64_t at) {
        edge = at;
        driven++;
        if (hold >= 0) set_timebase(static_cast<uint64_t>(hold), 0);
        for (int slot : {TOKEN, RESULT})
            if (wake[slot] <= edge && !valid[slot]) set_valid(slot, true);
        if (answers && !valid[RESULT]) {
            answers = false;
            answering = true;
            payload[RESULT] = uint64_t{1} << RESULT_KIND_OFFSET;
            set_valid(RESULT, true);
        }
        if (idle_at <= edge) ranks(0);
        offer_access();
        evaluate(true, false, false);
        bool wanted = get(model.p_clk__req);
        if (wanted) evaluate(true, true, false); // else the core's clock is gated
        bool moves = wanted || on_bus || valid[TOKEN] || valid[RESULT] || valid[FEEDBACK] || crossing || answers || idle_at != NEVER;
        quiet = moves ? 0 : quiet + 1;
        if (moves) npu_quiet = 0;

        if (started_at == edge) {
            record(edge, STARTED, {get(model.p_seen__now)});
            started_at = NEVER;
        }
        if (get(model.p_seen__start)) started_at = edge + 1;
        bool abort = get(model.p_abort);
        if (abort && has_task && !told) { // before a late result ends the task
            told = true;
            record(edge, ABORTED);
        }
        if (get(model.p_seen__feedback)) {
            taken(FEEDBACK);
            crossing = false;
            wake[FEEDBACK] = NEVER;
        }
        if (valid[TOKEN] && get(model.p_token____ready)) {
            taken(TOKEN);
            set_valid(TOKEN, false);
            wake[TOKEN] = NEVER;
            if (field(payload[TOKEN], TOKEN_LAST_OFFSET, 1) && !abort) end_task();
        }
        if (valid[RESULT] && get(model.p_result____ready)) {
            taken(RESULT);
            set_valid(RESULT, false);
            wake[RESULT] = NEVER;
            answering = false;
            end_task();
        }
        if (get(model.p_commit____valid)) {
            uint64_t beat = get(model.p_commit____payload);
            committed.push_back(field(beat, COMMIT_TOKEN_OFFSET, COMMIT_TOKEN_WIDTH));
            if (field(beat, COMMIT_LAST_OFFSET, 1)) {
                record(edge, COMMITTED, committed);
                committed.clear();
            }
        }
        if (get(model.p_task____valid)) take_task(get(model.p_task____payload), abort);
        bool request = get(model.p_target__request);
        take_answer();
        model.commit();
        model.p_target__grant.set<bool>(request); // no host access is open or waits
    }

    void taken(int slot) {
        uint64_t kind = slot == RESULT && answering ? TAKEN | INSIDE : TAKEN;
        record(edge, kind, {static_cast<uint64_t>(slot), get(model.p_seen__now)});
    }

    void take_task(uint64_t beat, bool abort) {
        if (task.header(beat)) ranks(masks[task.preverify(beat)]);
        if (!task.take(beat)) return;
        uint64_t kind = task.preverify(beat) ? PREVERIFY : DRAFT;
        if (!abort) {
            has_task = true;
            record(edge, kind, task.words);
            return;
        }
        record(edge, kind | INSIDE, task.words);
        record(edge, ABORTED | INSIDE);
        answers = true;
    }

    void end_task() {
        has_task = told = false;
        idle_at = edge + 1 + drain;
    }

    // The bus: one access at a time.

    void offer_access() {
        if (on_bus || waiting.empty() || waiting.front().edge > edge) return;
        on_bus = true;
        accesses++;
        const Access &access = waiting.front();
        if (access.write) {
            set(model.p_axi____awaddr, access.address);
            set(model.p_axi____wdata, access.data);
            set(model.p_axi____wstrb, 0xF);
            model.p_axi____awvalid.set<bool>(true);
            model.p_axi____wvalid.set<bool>(true);
        } else {
            set(model.p_axi____araddr, access.address);
            model.p_axi____arvalid.set<bool>(true);
        }
    }

    void take_answer() {
        if (get(model.p_axi____awready)) model.p_axi____awvalid.set<bool>(false);
        if (get(model.p_axi____wready)) model.p_axi____wvalid.set<bool>(false);
        if (get(model.p_axi____arready)) model.p_axi____arvalid.set<bool>(false);
        if (get(model.p_axi____bvalid))
            record(edge, ANSWER, {get(model.p_axi____bresp), 0});
        else if (get(model.p_axi____rvalid))
            record(edge, ANSWER, {get(model.p_axi____rresp), get(model.p_axi____rdata)});
        else
            return;
        waiting.erase(waiting.begin());
        on_bus = false;
    }

    // The NPU side.

    void npu_edge() {
        if (wake[FEEDBACK] != NEVER && !valid[FEEDBACK] && !crossing && wake[FEEDBACK] * mem_ps <= npu_next)
            set_valid(FEEDBACK, true);
        npu_next += npu_ps;
        npu_driven++;
        evaluate(false, false, true);
        npu_quiet++;
        if (valid[FEEDBACK] && get(model.p_feedback____ready)) {
            set_valid(FEEDBACK, false);
            crossing = true;
            npu_quiet = 0;
        }
        if (get(model.p_verify____valid)) {
            npu_quiet = 0;
            if (verify.take(get(model.p_verify____payload))) record(edge + 1, VERIFY, verify.words);
        }
        model.commit();
    }

    // Both.

    bool resting() const {
        return quiet >= QUIET && npu_quiet >= QUIET && (waiting.empty() || waiting.front().edge > edge + 1);
    }

    int64_t next_wake() const {
        int64_t next = waiting.empty() ? NEVER : waiting.front().edge;
        for (int slot = 0; slot < SLOTS; slot++)
            if (wake[slot] < next) next = wake[slot];
        return next;
    }

    void step(int64_t at) {
        while (npu_next < at * mem_ps) npu_edge();
        memory_edge(at);
    }

    void power_up() {
        set(model.p_rank__closed, 0xFFFF);
        model.p_task____ready.set<bool>(true);
        model.p_verify____ready.set<bool>(true);
        model.p_commit____ready.set<bool>(true);
        model.p_axi____bready.set<bool>(true);
        model.p_axi____rready.set<bool>(true);
        for (bool reset : {true, false}) {
            model.p_mem__rst.set<bool>(reset);
            model.p_npu__rst.set<bool>(reset);
            quiet = npu_quiet = 0;
            while (reset ? edge < QUIET || npu_driven < QUIET : !resting()) step(edge + 1);
        }
    }

    // Edge 0 is the latest one.
    void begin_counting() {
        npu_next -= edge * mem_ps;
        edge = driven = npu_driven = accesses = 0;
    }
};

} // namespace

#pragma GCC visibility push(default)
extern "C" {

void *ahasd_new(int64_t mem_ps, int64_t npu_ps, uint32_t draft_ranks, uint32_t target_ranks, int64_t drain) {
    auto *top = new Top(mem_ps, npu_ps, draft_ranks, target_ranks, drain);
    top->power_up();
    return top;
}

void ahasd_delete(void *handle) { delete static_cast<Top *>(handle); }

void ahasd_begin_counting(void *handle) { static_cast<Top *>(handle)->begin_counting(); }

void ahasd_access(void *handle, int write, uint32_t address, uint32_t data, int64_t edge) {
    static_cast<Top *>(handle)->waiting.push_back({write != 0, address, data, edge});
}

void ahasd_submit(void *handle, int slot, uint64_t payload, int64_t edge) {
    auto *top = static_cast<Top *>(handle);
    top->payload[slot] = payload;
    top->wake[slot] = edge;
}

// Runs up to edge `limit` of the memory clock; to the first edge with an output, or with `to_rest` until nothing
// moves. `hold` is where the timebase stands; negative: it runs. With `every` no edge is skipped. Writes records of
// edge, kind, count, values to the buffer. Returns twice the number of words, plus one unless the top rests; -1 if
// the buffer is too small.
int64_t ahasd_run(void *handle, int64_t limit, int64_t hold, int to_rest, int every) {
    auto *top = static_cast<Top *>(handle);
    top->out.clear();
    top->hold = hold;
    for (;;) {
        int64_t next = top->edge + 1;
        if (top->resting() && !every) {
            int64_t wake = top->next_wake();
            if (wake == NEVER) break;
            if (wake > next) next = wake;
        }
        if (next > limit) break;
        top->skip(next - 1);
        top->step(next);
        if (to_rest ? top->resting() && top->next_wake() == NEVER : !top->out.empty()) break;
    }
    if (top->out.size() > top->buffer_words) return -1;
    std::copy(top->out.begin(), top->out.end(), top->buffer);
    return static_cast<int64_t>(top->out.size()) << 1 | !top->resting();
}

void ahasd_buffer(void *handle, uint64_t *buffer, uint64_t words) {
    static_cast<Top *>(handle)->buffer = buffer;
    static_cast<Top *>(handle)->buffer_words = words;
}

// Edges driven of the memory and of the NPU clock, accesses, and the latest edge.
void ahasd_driven(void *handle, int64_t *numbers) {
    auto *top = static_cast<Top *>(handle);
    numbers[0] = top->driven;
    numbers[1] = top->npu_driven;
    numbers[2] = top->accesses;
    numbers[3] = top->edge;
}

}
#pragma GCC visibility pop
