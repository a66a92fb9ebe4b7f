"""Judge a rewritten kernel: one verdict with reasons, and a certificate that can be repeated."""
