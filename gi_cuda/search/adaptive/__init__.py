"""The parts of the preset ``adaptive``: what it learns, and how it fills its places."""
