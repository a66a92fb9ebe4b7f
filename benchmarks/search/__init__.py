"""Searches compared without a device, on improvements that were planted in a real space."""
