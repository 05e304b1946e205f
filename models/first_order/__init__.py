"""First-order timing: closed formulas for passes on PIM and NPU."""
