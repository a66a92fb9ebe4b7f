"""Checks of candidates beyond their outputs: races, thread orders, inputs, uninitialized locals."""
