"""The referee: one verdict on a rewritten kernel, with reasons, and a certificate of it."""
