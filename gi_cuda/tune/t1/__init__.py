"""T1 files: a kernel and its parameters, described for any tuner."""
