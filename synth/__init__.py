"""AHASD: Verilog, lint and area.

``emit``: Verilog and RTLIL; ``lint``: Verilator; ``area``: the report, from the steps in ``flow``;
``liberty``, ``boolean``: cell libraries; ``tools``: where all is; ``results``: the cache; ``scale``: 28 nm.
"""
