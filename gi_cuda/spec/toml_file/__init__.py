"""Reading and checking ``target.toml``."""
