"""Energy: what work consists of (``Activity``), what each event costs, and what adds up to joules."""

from ahasd.models.energy.activity import Activity

__all__ = ["Activity"]
