"""AHASD: rtl."""
