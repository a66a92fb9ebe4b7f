"""Rules of a grammar, read from function bodies."""
