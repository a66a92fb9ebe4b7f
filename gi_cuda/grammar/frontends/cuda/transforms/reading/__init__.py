"""Readers of the loops, variables and memory accesses of a kernel."""
