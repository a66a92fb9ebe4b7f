"""Edited source text: splices, guards, seams, schemata."""
