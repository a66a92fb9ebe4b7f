"""Source text as a grammar of rules: front ends, scopes, notation and rendering."""
