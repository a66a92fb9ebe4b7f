// What the kernels do, on the processor.
#include <cmath>

#include "grid.h"

void step_on_processor(const Grid &grid, const float *from, const float *conductivity, float *to) {
    for (int y = 0; y < grid.height; y++) {
        for (int x = 0; x < grid.width; x++) {
            const int at = y * grid.width + x;
            to[at] = from[at];
            if (x == 0 || y == 0 || x + 1 == grid.width || y + 1 == grid.height) continue;
            float spread = from[at - 1] + from[at + 1] + from[at - grid.width] + from[at + grid.width];
            float share = grid.rate * std::exp(-conductivity[at]);
            to[at] = from[at] + share * (spread - 4.0f * from[at]);
        }
    }
}
