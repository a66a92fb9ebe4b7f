// Stands for NVTX's header of this name.
#pragma once
#include "../gi_nvtx.hpp"
