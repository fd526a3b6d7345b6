/*
 * How a library in C would use it: ask at each launch, predict for each new problem once, remember what to build.
 *
 *     cc -std=c11 launch_cache.c $(pkg-config --cflags --libs seqtune) -o launch_cache
 *     ./launch_cache models/gemm-cpu epyc
 */
#include <inttypes.h>
#include <seqtune.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 256, FIELDS = 3 };

/* What a launch needs: the options of the compiler, and two values by which its sizes are computed. */
typedef struct {
    int64_t sizes[FIELDS];
    char options[1024];
    int64_t tile_m, tile_n;
    double time_us;
    int unsure;
} launch;

typedef struct {
    seqtune_predictor *predictor;
    seqtune_session *session;
    int64_t *values;
    ptrdiff_t tile_m, tile_n;
    size_t predicted;
    launch slots[SLOTS];
} launch_cache;

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, seqtune_last_error());
    exit(1);
}

static void predict(launch_cache *cache, launch *into)
{
    seqtune_candidate best[1];
    const size_t count = seqtune_parameter_count(cache->predictor);
    seqtune_prediction asked = SEQTUNE_PREDICTION(best, 1, cache->values, count);
    asked.width = 5;
    if (seqtune_predict_sizes(cache->predictor, cache->session, into->sizes, FIELDS, &asked)) fail("predicting");
    size_t length = 0;
    for (size_t i = 0; i < count; ++i) {
        const size_t room = sizeof into->options - length;
        const char *name = seqtune_parameter_name(cache->predictor, i);
        const int wrote = snprintf(into->options + length, room, "-D%s=%" PRId64 " ", name, best[0].values[i]);
        if (wrote < 0 || (size_t)wrote >= room) {
            fprintf(stderr, "the options are too long\n");
            exit(1);
        }
        length += (size_t)wrote;
    }
    into->tile_m = best[0].values[cache->tile_m];
    into->tile_n = best[0].values[cache->tile_n];
    into->time_us = best[0].time_us;
    into->unsure = asked.unsure;
    ++cache->predicted;
}

/* The launch for sizes: predicted the first time, found from then on. */
static const launch *look_up(launch_cache *cache, const int64_t sizes[FIELDS])
{
    size_t at = (size_t)(sizes[0] * 31 + sizes[1] * 17 + sizes[2]) % SLOTS;
    for (size_t tried = 0; tried < SLOTS; ++tried, at = (at + 1) % SLOTS) {
        launch *slot = &cache->slots[at];
        if (slot->options[0] && !memcmp(slot->sizes, sizes, sizeof slot->sizes)) return slot;
        if (!slot->options[0]) {
            memcpy(slot->sizes, sizes, sizeof slot->sizes);
            predict(cache, slot);
            return slot;
        }
    }
    fprintf(stderr, "the cache is full\n");
    exit(1);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s MODEL DEVICE\n", argv[0]);
        return 2;
    }
    launch_cache *cache = calloc(1, sizeof *cache);
    if (!cache) return 1;
    if (seqtune_open(argv[1], "gemm", argv[2], &cache->predictor)) fail("opening the model");
    if (seqtune_session_open(cache->predictor, &cache->session)) fail("opening a session");
    cache->values = malloc(seqtune_parameter_count(cache->predictor) * sizeof *cache->values);
    cache->tile_m = seqtune_parameter_index(cache->predictor, "MWG");
    cache->tile_n = seqtune_parameter_index(cache->predictor, "NWG");
    if (!cache->values || cache->tile_m < 0 || cache->tile_n < 0) fail("preparing");

    /* the launches of a program: batches of four sizes, over and over */
    size_t launches = 0;
    for (int step = 0; step < 25; ++step) {
        for (int64_t batch = 1; batch <= 4; ++batch, ++launches) {
            const int64_t sizes[FIELDS] = {64 * batch, 256, 512};
            const launch *next = look_up(cache, sizes);
            const int64_t groups = ((sizes[0] + next->tile_m - 1) / next->tile_m) * ((sizes[1] + next->tile_n - 1) / next->tile_n);
            if (step == 0)
                printf("%" PRId64 " x 256 x 512: %" PRId64 " work-groups, about %.0f us%s\n  %s\n", sizes[0], groups,
                       next->time_us, next->unsure ? " (unsure: measure the first few)" : "", next->options);
        }
    }
    printf("%zu launches, %zu predictions\n", launches, cache->predicted);
    seqtune_session_close(cache->session);
    seqtune_close(cache->predictor);
    free(cache->values);
    free(cache);
    return 0;
}
