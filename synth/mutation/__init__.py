"""Mutants of the control unit's netlist, and what kills them."""
