// Stands for Thrust's header of this name in device code.
#pragma once
#include "pair.h"
