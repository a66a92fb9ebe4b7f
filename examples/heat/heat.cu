// heat WIDTH HEIGHT STEPS [--check]: a plate that is hot in the middle.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "grid.h"

static int fail(const char *what) {
    std::fprintf(stderr, "heat: %s\n", what);
    return 1;
}

int main(int argc, char **argv) {
    if (argc < 4) return fail("say WIDTH HEIGHT STEPS [--check]");
    const Grid grid = {std::atoi(argv[1]), std::atoi(argv[2]), 0.2f};
    const int steps = std::atoi(argv[3]);
    const bool check = argc > 4 && std::strcmp(argv[4], "--check") == 0;
    if (grid.width < 3 || grid.height < 3 || steps < 1) return fail("the plate is too small");

    const int cells = grid.width * grid.height;
    std::vector<float> plate(cells), conductivity(cells);
    for (int y = 0; y < grid.height; y++) {
        for (int x = 0; x < grid.width; x++) {
            const float dx = x - grid.width / 2.0f, dy = y - grid.height / 2.0f;
            plate[y * grid.width + x] = 300.0f + 100.0f * std::exp(-(dx * dx + dy * dy) / cells);
            conductivity[y * grid.width + x] = 0.5f + 0.4f * std::sin(x * 0.1f) * std::cos(y * 0.1f);
        }
    }

    float *from, *to, *conducts;
    const size_t bytes = cells * sizeof(float);
    if (cudaMalloc(&from, bytes) != cudaSuccess) return fail("no memory on the device");
    cudaMalloc(&to, bytes);
    cudaMalloc(&conducts, bytes);
    cudaMemcpy(from, plate.data(), bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(conducts, conductivity.data(), bytes, cudaMemcpyHostToDevice);
    float largest = 0.0f;
    for (int n = 0; n < steps; n++) {
        largest = step(grid, from, conducts, to);
        std::swap(from, to);
    }
    std::vector<float> found(cells);
    cudaMemcpy(found.data(), from, bytes, cudaMemcpyDeviceToHost);
    if (cudaGetLastError() != cudaSuccess) return fail("the device failed");

    double sum = 0.0;
    for (float value : found) sum += value;
    std::printf("after %d steps: mean %.4f, last change %.4f\n", steps, sum / cells, largest);
    if (check) {
        std::vector<float> other(cells);
        for (int n = 0; n < steps; n++) {
            step_on_processor(grid, plate.data(), conductivity.data(), other.data());
            std::swap(plate, other);
        }
        for (int i = 0; i < cells; i++) {
            if (!(std::fabs(found[i] - plate[i]) < 1e-2f)) return fail("a cell is wrong");
        }
        std::printf("as on the processor\n");
    }
    return 0;
}
