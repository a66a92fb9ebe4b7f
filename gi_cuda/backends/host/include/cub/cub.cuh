// Stands for cub's header of this name in device code: the collectives of blocks and warps.
#pragma once
#include "../gi_cub_block.hpp"
