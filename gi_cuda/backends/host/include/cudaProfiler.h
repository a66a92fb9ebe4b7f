// Stands for CUDA's header of this name: there is nothing to be profiled.
#pragma once
#include "gi_cuda_host.hpp"
