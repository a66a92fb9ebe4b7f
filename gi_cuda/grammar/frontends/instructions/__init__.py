"""Texts of instructions: the parts that PTX and LLVM-IR share."""
