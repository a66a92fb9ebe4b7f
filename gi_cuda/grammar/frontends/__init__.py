"""Front ends: from a text to a grammar of it, and back."""
