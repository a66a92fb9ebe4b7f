"""Several machines: individuals are evaluated by the workers of a dask cluster.

The search itself, with its store and its breeding, stays in one process. A machine gets a copy of
the run without its individuals, once; then genotypes in notation, and sends back evaluations, each
timed beside the reference on its own device.
"""
