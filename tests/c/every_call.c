/* Every function of the header, rightly and wrongly called: what a checker of memory should look at. */
#include <math.h>
#include <seqtune.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <dirent.h>

#define IS(call, status) \
    do { \
        const seqtune_status got = (call); \
        if (got != (status)) { \
            fprintf(stderr, "line %d: status %d: %s\n", __LINE__, (int)got, seqtune_last_error()); \
            exit(1); \
        } \
    } while (0)
#define HOLDS(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "line %d: not %s\n", __LINE__, #what); \
            exit(1); \
        } \
    } while (0)

static void describe(seqtune_predictor *predictor)
{
    const int64_t *known;
    int64_t fallback;
    size_t count;
    HOLDS(seqtune_parameter_count(predictor) == 2 && seqtune_field_count(predictor) == 1);
    HOLDS(!strcmp(seqtune_parameter_name(predictor, 1), "width") && !seqtune_parameter_name(predictor, 2));
    HOLDS(!strcmp(seqtune_last_error(), "there is no parameter 2: there are 2, from 0 on"));
    HOLDS(seqtune_parameter_index(predictor, "tile") == 0 && seqtune_parameter_index(predictor, "M") == -1);
    IS(seqtune_parameter_values(predictor, 1, &known, &count, &fallback), SEQTUNE_OK);
    HOLDS(count == 3 && known[2] == 4 && fallback == 1);
    IS(seqtune_parameter_values(predictor, 9, NULL, NULL, NULL), SEQTUNE_INPUT);
    HOLDS(!strcmp(seqtune_field_name(predictor, 0), "M") && !seqtune_field_name(predictor, 1));
    HOLDS(!seqtune_field_label(predictor, 0, 0));
}

static void devices(seqtune_predictor *predictor)
{
    char name[8], text[1024];
    size_t needed;
    double value;
    int learned;
    const char *names[] = {"local_memory", "is_cpu"}, *unknown[] = {"wings"};
    const double values[] = {1024, 0}, less[] = {-1, 0};
    IS(seqtune_set_device(predictor, "H200"), SEQTUNE_OK);
    IS(seqtune_set_device(predictor, "H2OO"), SEQTUNE_DEVICE);
    IS(seqtune_device_name(predictor, name, sizeof name, &needed), SEQTUNE_OK);
    HOLDS(!strcmp(name, "H200") && needed == 5);
    IS(seqtune_device_name(predictor, name, 4, NULL), SEQTUNE_TOO_SMALL);
    IS(seqtune_set_device(predictor, "nvidia h200"), SEQTUNE_OK);
    IS(seqtune_device_learned(predictor, &learned), SEQTUNE_OK);
    HOLDS(learned == 0);
    IS(seqtune_device_note(predictor, text, sizeof text, &needed), SEQTUNE_OK);
    HOLDS(!strncmp(text, "the model never saw H200 (learned on ", 37) && needed == strlen(text) + 1);
    IS(seqtune_learned_on(predictor, text, sizeof text, NULL), SEQTUNE_OK);
    IS(seqtune_set_device(predictor, text), SEQTUNE_OK);
    IS(seqtune_device_learned(predictor, &learned), SEQTUNE_OK);
    HOLDS(learned == 1);
    IS(seqtune_device_note(predictor, text, sizeof text, &needed), SEQTUNE_OK);
    HOLDS(needed == 1 && !*text);
    IS(seqtune_set_device_limits(predictor, "board", names, values, 2), SEQTUNE_OK);
    IS(seqtune_device_limit(predictor, "local_memory", &value), SEQTUNE_OK);
    HOLDS(value == 1024);
    IS(seqtune_device_limit(predictor, "sub_group", &value), SEQTUNE_OK);
    HOLDS(isnan(value));
    IS(seqtune_device_limit(predictor, "wings", &value), SEQTUNE_DEVICE);
    IS(seqtune_set_device_limits(predictor, "board", unknown, values, 1), SEQTUNE_DEVICE);
    IS(seqtune_set_device_limits(predictor, "board", names, less, 2), SEQTUNE_INPUT);
    IS(seqtune_set_device_opencl(predictor, NULL), SEQTUNE_INPUT);
    IS(seqtune_set_device(predictor, "A100"), SEQTUNE_OK);
}

static void predict(seqtune_predictor *predictor, seqtune_session *session)
{
    seqtune_candidate best[3];
    int64_t values[6];
    const int64_t sizes[] = {1000, 1};
    const double fields[] = {1000}, half[] = {0.5};
    char text[64];
    size_t needed;
    seqtune_prediction asked = SEQTUNE_PREDICTION(best, 3, values, 6);
    IS(seqtune_predict(predictor, session, "M=1000", &asked), SEQTUNE_OK);
    HOLDS(asked.found == 3 && best[0].values == values && values[0] == 32 && values[1] == 4);
    HOLDS(best[0].probability > best[1].probability && best[2].values == values + 4);
    IS(seqtune_predict(predictor, NULL, "{\"M\": 1000}", &asked), SEQTUNE_OK);
    IS(seqtune_predict_sizes(predictor, session, sizes, 1, &asked), SEQTUNE_OK);
    IS(seqtune_predict_values(predictor, session, fields, 1, &asked), SEQTUNE_OK);
    HOLDS(values[0] == 32 && values[1] == 4);
    IS(seqtune_predict_sizes(predictor, session, sizes, 2, &asked), SEQTUNE_INPUT);
    IS(seqtune_predict_values(predictor, session, half, 1, &asked), SEQTUNE_PROBLEM);
    IS(seqtune_predict_values(predictor, session, NULL, 0, &asked), SEQTUNE_PROBLEM);
    IS(seqtune_predict(predictor, session, "M=1,M=2", &asked), SEQTUNE_PROBLEM);
    asked.value_count = 5;
    IS(seqtune_predict(predictor, session, "M=1", &asked), SEQTUNE_TOO_SMALL);
    IS(seqtune_predict_text(predictor, "M=1000", 2, text, sizeof text, &needed), SEQTUNE_OK);
    HOLDS(!strncmp(text, "tile=32,width=4\ntile=", 21) && needed == strlen(text) + 1);
    IS(seqtune_predict_text(predictor, "M=1000", 2, text, needed - 1, NULL), SEQTUNE_TOO_SMALL);
    HOLDS(!text[0]);
    IS(seqtune_config_text(predictor, values, 2, text, sizeof text, NULL), SEQTUNE_OK);
    HOLDS(!strcmp(text, "tile=32,width=4"));
}

static void check(seqtune_predictor *predictor)
{
    const double fields[] = {3};
    const int64_t values[] = {16, 1};
    double count;
    IS(seqtune_check(predictor, "M=1000", "tile=32,width=4"), SEQTUNE_OK);
    IS(seqtune_check(predictor, "M=1000", "tile=2,width=4"), SEQTUNE_ILLEGAL);
    HOLDS(!strcmp(seqtune_last_error(), "vectors must divide the tile (tile % width == 0; tile=2, width=4)"));
    IS(seqtune_check(predictor, "M=1000", "tile=3,width=4"), SEQTUNE_CONFIG);
    IS(seqtune_check_values(predictor, fields, 1, values, 2), SEQTUNE_ILLEGAL);
    IS(seqtune_check_values(predictor, fields, 1, values, 1), SEQTUNE_INPUT);
    IS(seqtune_count(predictor, "M=1000", &count), SEQTUNE_OK);
    HOLDS(count == 18);
}

static void choose(seqtune_predictor *predictor, seqtune_session *session, seqtune_session *theirs)
{
    seqtune_chooser *chooser;
    seqtune_chooser_options options = SEQTUNE_CHOOSER_OPTIONS;
    seqtune_pick pick;
    int64_t values[2];
    const int64_t sizes[] = {1000};
    char text[400];
    size_t needed;
    IS(seqtune_chooser_open(NULL, NULL, &chooser), SEQTUNE_INPUT);
    HOLDS(!chooser);
    options.top = 0;
    IS(seqtune_chooser_open(predictor, &options, &chooser), SEQTUNE_INPUT);
    HOLDS(!strcmp(seqtune_last_error(), "top is 0, not 1 to 100"));
    options.top = 3;
    options.size -= 1;
    IS(seqtune_chooser_open(predictor, &options, &chooser), SEQTUNE_INPUT);
    options.size += 1;
    options.memory = "/dev/null/choices";
    IS(seqtune_chooser_open(predictor, &options, &chooser), SEQTUNE_OK);
    IS(seqtune_chooser_pick(chooser, NULL, "M=1000", values, 1, &pick), SEQTUNE_TOO_SMALL);
    IS(seqtune_chooser_pick(chooser, NULL, "N=1000", values, 2, &pick), SEQTUNE_PROBLEM);
    IS(seqtune_chooser_pick(chooser, theirs, "M=1000", values, 2, &pick), SEQTUNE_INPUT);
    IS(seqtune_chooser_pick(chooser, NULL, "M=1000", values, 2, &pick), SEQTUNE_OK);
    HOLDS(values[0] == 32 && values[1] == 4 && !pick.settled);
    for (int call = 0; call < 60; ++call) {
        IS(seqtune_chooser_pick_sizes(chooser, session, sizes, 1, values, 2, &pick), SEQTUNE_OK);
        IS(seqtune_chooser_report(chooser, pick.id, (values[1] == 2 ? 40 : 50) + call % 2, NAN), SEQTUNE_OK);
    }
    HOLDS(pick.settled && values[1] == 2);
    IS(seqtune_chooser_report(chooser, pick.id, -1, NAN), SEQTUNE_INPUT);
    IS(seqtune_chooser_report(chooser, 0, 1, 1), SEQTUNE_OK);
    IS(seqtune_chooser_set_goal(chooser, SEQTUNE_EDP, 45, NAN, NAN), SEQTUNE_OK);
    IS(seqtune_chooser_set_goal(chooser, 7, NAN, NAN, NAN), SEQTUNE_INPUT);
    IS(seqtune_chooser_set_goal(chooser, SEQTUNE_TIME, 0, NAN, NAN), SEQTUNE_INPUT);
    IS(seqtune_chooser_set_goal_within(chooser, SEQTUNE_ENERGY, NAN, NAN, NAN, -0.1), SEQTUNE_INPUT);
    IS(seqtune_chooser_set_goal_within(chooser, SEQTUNE_EDP, 45, NAN, NAN, 0.5), SEQTUNE_OK);
    IS(seqtune_chooser_failed(chooser, pick.id), SEQTUNE_OK);
    IS(seqtune_chooser_pick(chooser, session, "M=1000", values, 2, &pick), SEQTUNE_OK);
    HOLDS(values[1] != 2);
    IS(seqtune_chooser_warnings(chooser, text, sizeof text, &needed), SEQTUNE_OK);
    IS(seqtune_chooser_save(chooser), SEQTUNE_FILE);
    seqtune_chooser_close(chooser);
    seqtune_chooser_close(NULL);
}

static void from_memory(const char *path, const char *kernel)
{
    static unsigned char bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    HOLDS(file);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    seqtune_predictor *predictor;
    IS(seqtune_open_memory(bytes, size, kernel, "A100", &predictor), SEQTUNE_OK);
    memset(bytes, 0, sizeof bytes);
    predict(predictor, NULL);
    seqtune_close(predictor);
    IS(seqtune_open_memory(bytes, size, kernel, "A100", &predictor), SEQTUNE_MODEL);
    HOLDS(!predictor);
}

/* Number of the threads of this program. */
static int threads(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    HOLDS(tasks);
    for (struct dirent *task; (task = readdir(tasks));) count += task->d_name[0] != '.';
    closedir(tasks);
    return count;
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    seqtune_predictor *predictor, *other;
    seqtune_session *session, *theirs;
    HOLDS(!strcmp(seqtune_version(), "0.1.0") && !seqtune_last_error()[0]);
    HOLDS(SEQTUNE_VERSION_MAJOR == 0 && SEQTUNE_VERSION_MINOR == 1 && SEQTUNE_VERSION_PATCH == 0);
    IS(seqtune_open("none", argv[2], NULL, &predictor), SEQTUNE_FILE);
    IS(seqtune_open(argv[1], "none", NULL, &predictor), SEQTUNE_KERNEL);
    HOLDS(!predictor);
    IS(seqtune_open(argv[1], "gemm", NULL, &predictor), SEQTUNE_MISMATCH);
    IS(seqtune_open(argv[1], argv[2], "A100", &predictor), SEQTUNE_OK);
    IS(seqtune_open(argv[1], argv[2], NULL, &other), SEQTUNE_OK);
    IS(seqtune_session_open(predictor, &session), SEQTUNE_OK);
    IS(seqtune_session_open(other, &theirs), SEQTUNE_OK);
    for (int tries = 0; threads() > 1 && tries < 60000; ++tries) nanosleep(&(struct timespec){0, 1000000}, NULL);
    HOLDS(threads() == 1); /* those that loaded models are gone */
    describe(predictor);
    devices(predictor);
    predict(predictor, session);
    check(predictor);
    choose(predictor, session, theirs);
    from_memory(argv[3], argv[2]);
    seqtune_candidate best;
    int64_t values[2];
    seqtune_prediction asked = SEQTUNE_PREDICTION(&best, 1, values, 2);
    IS(seqtune_predict(predictor, theirs, "M=1", &asked), SEQTUNE_INPUT);
    HOLDS(!strcmp(seqtune_last_error(), "the session is another predictor's"));
    seqtune_close(predictor);
    seqtune_session_close(session); /* after its predictor, which is allowed */
    seqtune_session_close(theirs);
    seqtune_close(other);
    seqtune_close(NULL);
    seqtune_session_close(NULL);
    puts("every call was made");
    return 0;
}
