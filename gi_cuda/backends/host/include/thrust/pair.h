// Stands for Thrust's header of this name in device code.
#pragma once
#include <utility>

namespace thrust {
using ::std::make_pair;
using ::std::pair;
using ::std::swap;
}  // namespace thrust
