"""Verbs that search."""
