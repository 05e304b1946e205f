"""Attention unit in RTL. Formats and golden model: ``ahasd.models.attention``."""
