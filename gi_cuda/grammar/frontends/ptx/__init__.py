"""The PTX front end: reads the PTX that nvcc makes of kernels as a grammar."""
