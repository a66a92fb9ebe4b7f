// Größen in UTF-8: µs, 語, “quotes”,  non-breaking, bad bytes ��.
__device__ float mittel(float a, float b)
{
	float m = a + b; /* Σ */
	m *= 0.5f;	// ½
	return m;
}

__global__ void utf8(float *out, const float *in, int n)
{
	int i = threadIdx.x;		/* índice */
	const char *name = "naïve ☃ é";
	if (i < n) {
		out[i] = mittel(in[i], in[0]);	// → out
		out[i] += name[0];
	} else
		out[0] = 1.0f;
  	for (int k = 0;	k < 3; k++)
	 	out[k] = in[k];
}