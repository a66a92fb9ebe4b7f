"""Figures, one module a feature. They need matplotlib, so import them only to draw."""
