"""Verbs that make and check targets."""
