"""A source as it is compiled: its headers and macros, what is left out, what is linked to it."""
