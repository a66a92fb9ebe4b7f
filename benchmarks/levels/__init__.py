"""What source-level edits gain against PTX edits, on equal terms: ``python -m benchmarks.levels``.

The same targets, cases, device, number of evaluations and seeds for searches over source lines,
over all source edits and over PTX, and for random search at both levels; then all winners side by
side in one measurement. Every number of the page comes from the runs' databases and from that
measurement.
"""
