"""Coverage of a source's code, independent of the language."""
