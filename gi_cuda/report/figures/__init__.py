"""Figures, one module per feature. They need matplotlib, so import them only to draw."""
