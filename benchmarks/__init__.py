"""How fast AHASD is: `make bench`. Ratios within one run; absolute times belong to one machine."""
