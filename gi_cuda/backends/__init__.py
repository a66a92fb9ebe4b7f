"""Where variants are compiled and run: one folder for each back end, and what all of them share."""

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""Environment of commands and workers before they load numpy. The threads that it would start have
nothing to do here and cost a third of the start; and a process that forks should have none."""
