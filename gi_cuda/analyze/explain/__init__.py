"""What each change of a winner does, and where."""
