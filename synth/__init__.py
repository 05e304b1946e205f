"""AHASD: Verilog, lint and area.

``emit``: Verilog and RTLIL; ``lint``: Verilator; ``area``: the report, from the steps in ``flow``. ``liberty``
and ``boolean``: cell libraries; ``tools``: where all is; ``results``: the cache; ``scale``: other processes.
"""
