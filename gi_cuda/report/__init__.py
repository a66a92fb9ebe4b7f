"""What people read: tables, figures, progress. A module is called like the command it serves."""
