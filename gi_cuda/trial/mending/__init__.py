"""Mends of a proposal that does not pass."""
