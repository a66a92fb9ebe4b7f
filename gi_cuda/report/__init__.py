"""Output for users: tables, figures, progress. A module has the name of its command."""
