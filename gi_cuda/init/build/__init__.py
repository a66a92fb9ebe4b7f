"""What the build files of a project say of how its sources are compiled."""
