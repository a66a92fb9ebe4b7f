"""Texts of instructions: what PTX and LLVM-IR have in common."""
