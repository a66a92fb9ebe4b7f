"""Caches of compiled code."""
