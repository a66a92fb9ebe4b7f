#pragma once

namespace {
#if WEIGHTED + 0
__device__ inline float weight_of(int by, int radius)
{
	float far = by < 0 ? -by : by;
	far = radius + 1 - far;
	return far;
}
#else
__device__ inline float weight_of(int, int) { float one = 0; one = 1.0f; return one; }
#endif
}