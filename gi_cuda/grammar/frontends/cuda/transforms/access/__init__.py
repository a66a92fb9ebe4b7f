"""Transformations of memory accesses."""
