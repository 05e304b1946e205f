"""Golden control unit: exact behaviour, no hardware description."""
