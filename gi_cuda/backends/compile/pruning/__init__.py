"""C++ text without declarations that its kernels do not need."""
