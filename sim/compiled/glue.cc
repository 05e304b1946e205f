// Runs a CXXRTL control unit in C++ until something comes out of it. Included after the generated model and
// common.cc. See engine.py for the Python side.

namespace {

using Model = cxxrtl_design::p_control__unit;

struct Unit : Recorder {
    Model model;
    int64_t edge = 0;
    int64_t driven = 0;
    int64_t wake[SLOTS] = {NEVER, NEVER, NEVER};
    uint64_t payload[SLOTS] = {};
    bool valid[SLOTS] = {};
    int64_t start_at = NEVER;
    int64_t started_at = NEVER;
    bool abort = false;
    bool resting = false; // found to need no clock until an input comes
    bool broken = false;  // a register changed although clk_req was low
    std::vector<uint64_t> committed;
    Request verify, task;
    uint64_t *buffer = nullptr;
    size_t buffer_words = 0;

    // One evaluation does for an edge: outputs are those before it, and what registers will hold is noted but
    // not yet taken over (that is `commit`). No logic depends on the clock's level.
    void evaluate() {
        model.prev_p_clk.set<bool>(false);
        model.p_clk.set<bool>(true);
        model.eval();
    }

    // Outputs that are logic on registers follow them.
    void settle() {
        model.p_clk.set<bool>(false);
        model.step();
    }

    void set_valid(int slot, bool on) {
        valid[slot] = on;
        offer(model, slot, payload[slot], on);
    }

    bool taken(int slot) const {
        switch (slot) {
        case TOKEN: return get(model.p_token____ready);
        case FEEDBACK: return get(model.p_feedback____ready);
        default: return get(model.p_result____ready);
        }
    }

    void record(uint64_t kind, const std::vector<uint64_t> &values = {}) { Recorder::record(edge, kind, values); }

    // What the coming edge transfers; the clock is low and the model has settled.
    void sample() {
        if (get(model.p_abort) != abort) {
            abort = !abort;
            if (abort) record(ABORTED);
        }
        if (get(model.p_commit____valid)) {
            uint64_t beat = get(model.p_commit____payload);
            committed.push_back(field(beat, COMMIT_TOKEN_OFFSET, COMMIT_TOKEN_WIDTH));
            if (field(beat, COMMIT_LAST_OFFSET, 1)) {
                record(COMMITTED, committed);
                committed.clear();
            }
        }
        if (get(model.p_verify____valid) && verify.take(get(model.p_verify____payload)))
            record(VERIFY, verify.words);
        if (get(model.p_task____valid)) {
            uint64_t beat = get(model.p_task____payload);
            if (task.take(beat)) record(task.preverify(beat) ? PREVERIFY : DRAFT, task.words);
        }
    }

    // The edge `at` with timebase `now`, if the unit asks for it (or `every`); else it rests and this is false.
    bool clock(int64_t at, uint32_t now, bool every) {
        set(model.p_now, now);
        for (int slot = 0; slot < SLOTS; slot++)
            if (wake[slot] <= at && !valid[slot]) set_valid(slot, true);
        bool strobe = start_at <= at;
        if (strobe) set(model.p_command, uint64_t{1} << COMMAND_START_OFFSET);
        evaluate();
        resting = !requested();
        if (resting && !every) {
            broken |= model.commit(); // what clk_req promises: nothing would change
            return false;
        }
        edge = at;
        driven++;
        if (started_at == edge) {
            record(STARTED);
            started_at = NEVER;
        }
        for (int slot = 0; slot < SLOTS; slot++)
            if (valid[slot] && taken(slot)) {
                record(TAKEN, {static_cast<uint64_t>(slot)});
                set_valid(slot, false);
                wake[slot] = NEVER;
            }
        sample();
        if (strobe) {
            set(model.p_command, 0);
            start_at = NEVER;
            started_at = edge + 1;
        }
        model.commit();
        return true;
    }

    bool requested() const { return get(model.p_clk__req); }

    int64_t next_wake() const {
        int64_t next = start_at;
        for (int slot = 0; slot < SLOTS; slot++)
            if (!valid[slot] && wake[slot] < next) next = wake[slot];
        return next;
    }
};

} // namespace

#pragma GCC visibility push(default)
extern "C" {

void *ahasd_new() {
    auto *unit = new Unit;
    unit->model.p_task____ready.set<bool>(true);
    unit->model.p_verify____ready.set<bool>(true);
    unit->model.p_commit____ready.set<bool>(true);
    unit->model.p_rst.set<bool>(true);
    unit->evaluate();
    unit->model.commit();
    unit->model.p_rst.set<bool>(false);
    while (unit->clock(0, 0, false)) {
    }
    unit->driven = 0;
    return unit;
}

void ahasd_delete(void *handle) { delete static_cast<Unit *>(handle); }

void ahasd_configure(void *handle, const uint32_t *words) {
    auto &port = static_cast<Unit *>(handle)->model.p_config;
    for (size_t k = 0; k < port.chunks; k++) port.data[k] = words[k];
}

void ahasd_start(void *handle, int64_t edge) { static_cast<Unit *>(handle)->start_at = edge; }

void ahasd_submit(void *handle, int slot, uint64_t payload, int64_t edge) {
    auto *unit = static_cast<Unit *>(handle);
    unit->payload[slot] = payload;
    unit->wake[slot] = edge;
}

// Runs up to edge `limit`. `shift` turns edges into timebase ticks; negative: the timebase stands at `now`.
// Stops at the first edge with an output, or with `to_rest` when the unit no longer asks for its clock.
// Writes records of edge, kind, count, values to the buffer. Returns twice the number of words, plus one unless
// the unit was found to rest; -1 if the buffer is too small, -2 if a register changed while clk_req was low.
int64_t ahasd_run(void *handle, int64_t limit, int shift, uint32_t now, int to_rest, int every) {
    auto *unit = static_cast<Unit *>(handle);
    unit->out.clear();
    for (;;) {
        int64_t next = unit->edge + 1;
        if (unit->resting && !every) {
            int64_t wake = unit->next_wake();
            if (wake == NEVER) break;
            if (wake > next) next = wake;
        }
        if (next > limit) break;
        bool ran = unit->clock(next, shift < 0 ? now : static_cast<uint32_t>(next >> shift), every);
        if (ran && !to_rest && !unit->out.empty()) break;
    }
    if (unit->broken) return -2;
    if (unit->out.size() > unit->buffer_words) return -1;
    std::copy(unit->out.begin(), unit->out.end(), unit->buffer);
    return static_cast<int64_t>(unit->out.size()) << 1 | !unit->resting;
}

void ahasd_buffer(void *handle, uint64_t *buffer, uint64_t words) {
    static_cast<Unit *>(handle)->buffer = buffer;
    static_cast<Unit *>(handle)->buffer_words = words;
}

int64_t ahasd_edge(void *handle) { return static_cast<Unit *>(handle)->edge; }

int64_t ahasd_driven(void *handle) { return static_cast<Unit *>(handle)->driven; }

uint32_t ahasd_cause(void *handle) {
    static_cast<Unit *>(handle)->settle();
    return static_cast<uint32_t>(get(static_cast<Unit *>(handle)->model.p_cause));
}

void ahasd_counters(void *handle, uint32_t *words) {
    static_cast<Unit *>(handle)->settle();
    const auto &port = current(static_cast<Unit *>(handle)->model.p_counters);
    for (size_t k = 0; k < port.chunks; k++) words[k] = port.data[k];
}

}
#pragma GCC visibility pop
