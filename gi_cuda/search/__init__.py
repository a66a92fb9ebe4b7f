"""The search: tabu, population, strategies and the evolution loop. Knows nothing of CUDA."""
