"""Launches of an application, recorded."""
