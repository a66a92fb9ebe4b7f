"""Individuals are evaluated by other processes: the workers of a dask cluster, or one for each of the
several devices of this machine.

The search itself, with its store and its breeding, stays in one process. A machine gets a copy of
the run without its individuals, once; then genotypes in notation, and sends back evaluations, each
timed beside the reference on its own device.
"""
