"""Races, and other orders of threads."""
