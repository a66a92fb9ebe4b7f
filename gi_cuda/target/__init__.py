"""A target: what to evolve, how to launch it, its inputs and its oracle."""
