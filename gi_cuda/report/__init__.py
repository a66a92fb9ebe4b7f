"""Tables, figures and progress for people; a module is called like the command it serves."""
