"""Tuning: the search of the configuration space alone, and the files of other tuners."""
