"""Tables about runs and winners."""
