"""Individuals are evaluated by other processes: the workers of a dask cluster, or a process for
each device of this machine, where it has several.

The search itself, with its store and its breeding, stays in one process. A machine gets a copy of
the run without its individuals, once; then genotypes in notation, and sends back evaluations, each
timed beside the reference on its own device.
"""
