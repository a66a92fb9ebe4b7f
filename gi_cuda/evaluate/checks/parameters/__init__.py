"""Checks of a target's parameters."""
