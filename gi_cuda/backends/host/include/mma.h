// Stands for CUDA's header of this name in device code.
#pragma once
#include "gi_matrices.hpp"
