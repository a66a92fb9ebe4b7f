// Stands for cub's header of this name in device code: the collectives of blocks and warps.
#pragma once
#include "../gi_cub_neighbours.hpp"
#include "../gi_cub_sort.hpp"
