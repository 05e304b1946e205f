"""AHASD: synth."""
