"""Analysis of a kernel's text: accesses, sizes, meanings of its data."""
