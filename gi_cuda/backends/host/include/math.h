// The C header: the C++ standard library's of this name takes longer to read than dozens of kernels to compile.
#pragma once
#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#include_next <math.h>
#undef _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#include "gi_math.hpp"
