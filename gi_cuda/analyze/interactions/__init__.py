"""Determine the dependencies between a winner's changes."""
