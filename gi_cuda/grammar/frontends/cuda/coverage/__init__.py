"""Counts of executed code, and code that no case tests."""
