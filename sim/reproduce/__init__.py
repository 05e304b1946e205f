"""Every claim of the paper, on which assumptions: cells, tables, ledger, figures. One idea a file."""
