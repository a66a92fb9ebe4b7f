"""What can be wrong with a target that its file alone does not show: pure functions of facts, whose
findings say where, what, and what to do."""
