"""Evaluation in other processes: on the workers of a dask cluster, or in one process for each
device of this machine.

The search itself, with its database and its breeding, stays in one process. Each worker gets a copy
of the run without its individuals, once. After that it receives genotypes in notation and sends
back evaluations, each timed beside the reference on its own device.
"""
