"""Transformations of arithmetic."""
