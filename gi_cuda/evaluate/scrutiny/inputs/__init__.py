"""Candidates with other inputs than the cases'."""
