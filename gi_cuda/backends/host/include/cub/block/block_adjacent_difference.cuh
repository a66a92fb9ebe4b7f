// Stands for cub's header of this name in device code.
#pragma once
#include "../../gi_cub_neighbours.hpp"
