"""LLVM-IR: made by clang of CUDA sources, and compiled to PTX by llvmlite."""
