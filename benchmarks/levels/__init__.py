"""Compare source edits with PTX edits on equal terms: ``python -m benchmarks.levels``.

Searches over source lines, over all source edits, and over PTX, and random search at both levels
have the same targets, cases, device, number of evaluations and seeds. Then all winners are compared
in one measurement. Every number of the page comes from the runs' databases and from that
measurement.
"""
