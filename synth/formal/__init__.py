"""Formal properties of the hardware, and what proves them."""
