// Stands for CUDA's header of this name in device code.
#pragma once
#include "curand_kernel.h"
