"""Compiler options of a source, read from the build files of its project."""
