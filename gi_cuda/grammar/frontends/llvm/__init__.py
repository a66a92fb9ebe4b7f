"""The LLVM-IR front end: the IR that clang makes of kernels, as a grammar."""
