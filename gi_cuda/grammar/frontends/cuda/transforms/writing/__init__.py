"""The text that transformations leave: loops, vectors, indentation, free names."""
