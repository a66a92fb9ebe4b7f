"""Transformations that map work to threads and blocks differently."""
