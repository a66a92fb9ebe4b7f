"""From a kernel and its host code to a proposal for a target."""
