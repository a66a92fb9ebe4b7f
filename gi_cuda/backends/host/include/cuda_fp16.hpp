// Stands for CUDA's header of this name in device code.
#pragma once
#include "cuda_fp16.h"
