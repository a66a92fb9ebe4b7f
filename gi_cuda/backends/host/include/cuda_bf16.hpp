// Stands for CUDA's header of this name in device code.
#pragma once
#include "cuda_bf16.h"
