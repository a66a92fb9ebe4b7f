"""Stored runs: histories, records, comparisons of searches."""
