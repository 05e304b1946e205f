"""AHASD: models."""
