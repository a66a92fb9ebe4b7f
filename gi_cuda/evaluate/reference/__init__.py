"""The reference: its baseline, its faults, its rounding."""
