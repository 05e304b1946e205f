"""Operators split between two devices, with a barrier behind each (SpecPIM), and the search for the split."""
