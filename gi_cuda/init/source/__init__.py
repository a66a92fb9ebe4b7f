"""Read a kernel's source: headers, macros, conditional code, linked files."""
