"""Analyze a run after the search: choose, minimize, validate, explain and compare winners."""
