// Stands for Thrust's header of this name beside kernels.
#pragma once
#include "../gi_thrust.hpp"
