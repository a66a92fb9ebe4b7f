"""Propose a target for a kernel from its source and its host code."""
