"""Tables and progress for people."""
