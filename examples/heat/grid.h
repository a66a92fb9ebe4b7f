// A plate of cells, and how fast heat spreads in it.
#pragma once

struct Grid {
    int width, height;
    float rate;
};

// One step of all cells on the device; the largest change of any cell comes back.
float step(const Grid &grid, const float *from, const float *conductivity, float *to);

// The same on the processor, for the test.
void step_on_processor(const Grid &grid, const float *from, const float *conductivity, float *to);
