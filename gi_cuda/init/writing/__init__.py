"""From a proposal to a target's folder."""
