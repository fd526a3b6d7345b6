/* Heat in a square plate, by Jacobi's method: a program that prints its time and its result. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <omp.h>

int main(int count, char **words) {
    if (count != 4) {
        fprintf(stderr, "usage: heat SIDE STEPS TILE\n");
        return 2;
    }
    int side = atoi(words[1]), steps = atoi(words[2]), tile = atoi(words[3]);
    size_t cells = (size_t)(side + 2) * (side + 2);
    double *old = malloc(cells * sizeof *old), *new = malloc(cells * sizeof *new);
    if (!old || !new) {
        fprintf(stderr, "no memory for %zu cells\n", cells);
        return 1;
    }
    int width = side + 2;
    /* the upper edge is hot; each thread touches first what it works on */
#pragma omp parallel for schedule(static)
    for (int y = 0; y < width; y++)
        for (int x = 0; x < width; x++)
            old[(size_t)y * width + x] = new[(size_t)y * width + x] = y == 0 ? 1.0 : 0.0;
    double began = omp_get_wtime();
    for (int step = 0; step < steps; step++) {
#pragma omp parallel for collapse(2) schedule(static)
        for (int top = 1; top <= side; top += tile)
            for (int left = 1; left <= side; left += tile) {
                int bottom = top + tile <= side + 1 ? top + tile : side + 1;
                int right = left + tile <= side + 1 ? left + tile : side + 1;
                for (int y = top; y < bottom; y++) {
                    const double *here = old + (size_t)y * width;
                    double *to = new + (size_t)y * width;
                    for (int x = left; x < right; x++)
                        to[x] = 0.25 * (here[x - 1] + here[x + 1] + here[x - width] + here[x + width]);
                }
            }
        double *swap = old;
        old = new;
        new = swap;
    }
    double took = omp_get_wtime() - began;
    /* the plate is symmetric, left and right: a step that missed or doubled a tile would show */
    double error = 0;
    for (int y = 1; y <= side; y++)
        for (int x = 1; x <= side / 2; x++)
            error = fmax(error, fabs(old[(size_t)y * width + x] - old[(size_t)y * width + side + 1 - x]));
    double under_edge = old[width + width / 2];
    printf("time: %.9f s\n", took);
    printf("check: %s (asymmetry %.1e, under the edge %.6f)\n",
           error < 1e-9 && under_edge > 0.2 && under_edge < 1 ? "PASSED" : "FAILED", error, under_edge);
    free(old);
    free(new);
    return 0;
}
