"""Compare searches without a device, on improvements planted in a real search space."""
