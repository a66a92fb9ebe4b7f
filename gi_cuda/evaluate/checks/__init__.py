"""Checks of a target for mistakes that its file alone does not show.

Most are pure functions of measured facts; their findings say where, what, and what to do.
"""
