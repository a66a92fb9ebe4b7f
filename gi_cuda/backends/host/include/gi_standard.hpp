// What nvcc includes of the standard library without being asked. `gi_cuda_host.hpp` comes first.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <new>
#include <utility>
