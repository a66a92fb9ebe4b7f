"""From the texts of a batch to records: built, rehearsed, measured, confirmed."""
