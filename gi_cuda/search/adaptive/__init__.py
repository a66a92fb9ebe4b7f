"""Parts of the preset ``adaptive``: its knowledge, and the recipes that fill its places."""
