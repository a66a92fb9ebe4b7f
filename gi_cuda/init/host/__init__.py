"""What host code says of a kernel: how it is launched, and what it is passed."""
