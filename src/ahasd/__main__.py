"""`python -m ahasd` and the `ahasd` command."""

from ahasd.cli import main

if __name__ == "__main__":
    main()
