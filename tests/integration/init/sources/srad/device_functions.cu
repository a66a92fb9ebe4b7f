// statistics of a neighbourhood
__device__ fp diffusion(fp north, fp south, fp west, fp east, fp center, fp q0sqr)
{
	fp G2 = (north*north + south*south + west*west + east*east) / (center*center);
	fp L = (north + south + west + east) / center;
	fp num = (0.5*G2) - ((1.0/16.0)*(L*L));
	fp den = 1 + (.25*L);
	fp qsqr = num/(den*den);
	den = (qsqr-q0sqr) / (q0sqr * (1+q0sqr));
	fp c = 1.0 / (1.0+den);
	if (c < 0) {
		c = 0;
	}
	else if (c > 1) {
		c = 1;
	}
	return c;
}
