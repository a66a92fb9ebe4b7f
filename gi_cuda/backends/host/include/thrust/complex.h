// Stands for Thrust's header of this name in device code.
#pragma once
#include <complex>

namespace thrust {

using ::std::abs;
using ::std::arg;
using ::std::complex;
using ::std::conj;
using ::std::cos;
using ::std::cosh;
using ::std::exp;
using ::std::log;
using ::std::norm;
using ::std::polar;
using ::std::pow;
using ::std::proj;
using ::std::sin;
using ::std::sinh;
using ::std::sqrt;
using ::std::tan;
using ::std::tanh;

}  // namespace thrust
