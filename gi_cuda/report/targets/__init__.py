"""Tables about targets."""
