"""Readers of loops."""
