# amaranth: UnusedElaboratable=no
"""A small component whose flip-flops can be counted by hand, and a cache for each session."""

from __future__ import annotations

from pathlib import Path

import pytest
from amaranth.hdl import Module
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

ROWS, WIDTH = 8, 4


class Counter(wiring.Component):
    """Five bits."""

    def __init__(self) -> None:
        super().__init__({"en": In(1), "count": Out(5)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with m.If(self.en):
            m.d.sync += self.count.eq(self.count + 1)
        return m


class Small(wiring.Component):
    """A state machine, a sub-module, a memory, a stream and a tied-off port."""

    def __init__(self) -> None:
        super().__init__(
            {
                "go": In(1),
                "i": In(stream.Signature(WIDTH, always_ready=True)),
                "abort": Out(1),
                "row": Out(WIDTH),
                "total": Out(8),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.counter = counter = Counter()
        m.submodules.table = table = memory.Memory(shape=WIDTH, depth=ROWS, init=[])
        write, read = table.write_port(), table.read_port(domain="comb")
        m.d.comb += [
            counter.en.eq(self.i.valid),
            write.addr.eq(counter.count[:3]),
            write.data.eq(self.i.payload),
            write.en.eq(self.i.valid),
            read.addr.eq(counter.count[2:]),
            self.row.eq(read.data),
        ]
        with m.FSM():
            with m.State("IDLE"), m.If(self.go):
                m.next = "RUN"
            with m.State("RUN"):
                m.d.comb += self.abort.eq(counter.count[3:] == 3)
                m.d.sync += self.total.eq(self.total + self.i.payload[:2] * 3)
                with m.If(self.abort):
                    m.next = "IDLE"
        return m


@pytest.fixture
def small() -> Small:
    return Small()


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _private_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's results."""
    monkeypatch.setenv("AHASD_CACHE", str(cache))
