"""AHASD: sim."""
