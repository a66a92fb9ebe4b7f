__global__ void srad(	fp d_lambda, int d_Nr, int d_Nc, long d_Ne, fp *d_dN, fp d_q0sqr, fp *d_c, const fp *d_I)
{
	int bx = blockIdx.x;
	int tx = threadIdx.x;
	int ei = bx*NUMBER_THREADS+tx;
	int row, col;
	row = (ei+1) % d_Nr - 1;
	col = (ei+1) / d_Nr + 1 - 1;
	if((ei+1) % d_Nr == 0){
		row = d_Nr - 1;
		col = col - 1;
	}
	if(ei<d_Ne){
		fp d_Jc = d_I[ei];
		fp north = d_I[(row == 0 ? row : row - 1) + d_Nr*col] - d_Jc;
		fp south = d_I[(row == d_Nr - 1 ? row : row + 1) + d_Nr*col] - d_Jc;
		fp west = d_I[row + d_Nr*(col == 0 ? col : col - 1)] - d_Jc;
		fp east = d_I[row + d_Nr*(col == d_Nc - 1 ? col : col + 1)] - d_Jc;
		d_dN[ei] = north * d_lambda;
		d_c[ei] = diffusion(north, south, west, east, d_Jc, d_q0sqr);
	}
}
