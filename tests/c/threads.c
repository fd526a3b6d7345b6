/* Eight threads ask one predictor, each through a session of its own or none, what one thread asked before. */
#include <pthread.h>
#include <seqtune.h>
#include <stdio.h>
#include <string.h>

enum { PROBLEMS = 40, TOP = 3, THREADS = 8, MOST = 16 };

static seqtune_predictor *predictor;
static int64_t expected[PROBLEMS][TOP][MOST];
static double probabilities[PROBLEMS][TOP];

static int ask(seqtune_session *session, int problem, seqtune_candidate best[TOP], int64_t values[TOP * MOST])
{
    seqtune_prediction asked = SEQTUNE_PREDICTION(best, TOP, values, TOP * MOST);
    const int64_t fields[] = {1 + 97 * problem};
    return seqtune_predict_sizes(predictor, session, fields, 1, &asked) || asked.found != TOP;
}

static void *work(void *argument)
{
    const int own = *(const int *)argument;
    size_t differences = 0;
    seqtune_session *session = NULL;
    seqtune_candidate best[TOP];
    int64_t values[TOP * MOST];
    if (own && seqtune_session_open(predictor, &session)) return (void *)1;
    for (int round = 0; round < 3; ++round) {
        for (int p = 0; p < PROBLEMS; ++p) {
            differences += ask(session, p, best, values) != 0;
            for (int i = 0; i < TOP; ++i) {
                const size_t bytes = seqtune_parameter_count(predictor) * sizeof(int64_t);
                differences += memcmp(best[i].values, expected[p][i], bytes) || best[i].probability != probabilities[p][i];
            }
        }
        /* a failure of this thread is its own */
        differences += seqtune_predict(predictor, session, "M=0", NULL) != SEQTUNE_INPUT;
        differences += strcmp(seqtune_last_error(), "`prediction` is NULL") != 0;
    }
    seqtune_session_close(session);
    return (void *)differences;
}

int main(int argc, char **argv)
{
    if (argc != 3 || seqtune_open(argv[1], argv[2], "A100", &predictor)) {
        fprintf(stderr, "%s\n", seqtune_last_error());
        return 1;
    }
    for (int p = 0; p < PROBLEMS; ++p) {
        seqtune_candidate best[TOP];
        int64_t values[TOP * MOST];
        if (ask(NULL, p, best, values)) return 2;
        for (int i = 0; i < TOP; ++i) {
            memcpy(expected[p][i], best[i].values, seqtune_parameter_count(predictor) * sizeof(int64_t));
            probabilities[p][i] = best[i].probability;
        }
    }
    pthread_t threads[THREADS];
    int own[THREADS];
    size_t differences = 0;
    for (int t = 0; t < THREADS; ++t) {
        own[t] = t % 2;
        if (pthread_create(&threads[t], NULL, work, &own[t])) return 3;
    }
    for (int t = 0; t < THREADS; ++t) {
        void *found;
        pthread_join(threads[t], &found);
        differences += (size_t)found;
    }
    printf("%d threads: %zu differences\n", THREADS, differences);
    seqtune_close(predictor);
    return 0;
}
