"""Readers of the work that a thread or a block does for each item."""
