// libcu++'s part of the standard library: device code is host code here, so the host's own serves.
#pragma once
namespace cuda {
namespace std {
using namespace ::std;
}  // namespace std
}  // namespace cuda
