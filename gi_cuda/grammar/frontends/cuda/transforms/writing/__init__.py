"""Writers of transformed text: loops, vectors, indentation, unused names."""
