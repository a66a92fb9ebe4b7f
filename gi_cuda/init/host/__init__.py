"""Launches of a kernel in host code: launch configuration, arguments, data."""
