"""Read rewritten kernels (files, folders, diffs) and their launches."""
