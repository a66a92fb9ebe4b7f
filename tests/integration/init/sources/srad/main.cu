#include <stdlib.h>
#include <stdio.h>
#include "define.c"
#include "device_functions.cu"
#include "srad_kernel.cu"

int main(int argc, char *argv [])
{
	int Nr = 502, Nc = 458;
	long Ne = Nr*Nc;
	fp lambda = 0.5, q0sqr = 0.05;
	fp *d_I, *d_dN, *d_c;
	int mem_size = sizeof(fp) * Ne;
	cudaMalloc((void **)&d_I, mem_size);
	cudaMalloc((void **)&d_dN, mem_size);
	cudaMalloc((void **)&d_c, mem_size);
	dim3 threads, blocks;
	threads.x = NUMBER_THREADS;
	threads.y = 1;
	int blocks_x = Ne/(int)threads.x;
	if (Ne % (int)threads.x != 0){
		blocks_x = blocks_x + 1;
	}
	blocks.x = blocks_x;
	blocks.y = 1;
	srad<<<blocks, threads>>>(lambda, Nr, Nc, Ne, d_dN, q0sqr, d_c, d_I);
	return 0;
}
