"""The register block: one description, and what is made of it: RTL, documentation, C header, Python names."""
