"""Verbs about what a search found."""
