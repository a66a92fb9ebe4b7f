"""Front ends: read a text as a grammar, and render variants of the text."""
