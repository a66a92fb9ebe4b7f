"""Recorded results of other tuners."""
