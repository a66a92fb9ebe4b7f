"""The PTX front end: the PTX that nvcc makes of kernels, as a grammar."""
