/*
 * seqtune: predicts the tuning parameters of GPU kernels. docs/integrations/c.md shows its use.
 *
 * Pointers. A predictor or session is one that was opened and not closed. Texts end with a zero and are UTF-8. A list has as
 * many items as the number beside it says, and may be NULL where that is 0. Nothing of the caller's is kept after a call.
 * A null pointer, a wrong size or a number out of its range is answered with a status and a sentence.
 *
 * Threads. Any number may use one predictor or chooser at once, except to close it. A session belongs to one thread at a time.
 *
 * Made by cbindgen of the files in src/c: change those.
 */

#ifndef SEQTUNE_H
#define SEQTUNE_H

#include <stddef.h>
#include <stdint.h>

/* A prediction of `top` candidates into room of the caller's: seqtune_prediction p = SEQTUNE_PREDICTION(...). */
#ifndef __cplusplus
#define SEQTUNE_PREDICTION(room, number, value_room, value_number) \
    { .size = sizeof(seqtune_prediction), .candidate_size = sizeof(seqtune_candidate), .candidates = (room), \
      .top = (number), .values = (value_room), .value_count = (value_number), .objective = SEQTUNE_TIME }
/* What is usual: seqtune_chooser_options o = SEQTUNE_CHOOSER_OPTIONS; o.memory = "choices.json"; */
#define SEQTUNE_CHOOSER_OPTIONS { .size = sizeof(seqtune_chooser_options), .top = 5, .tolerance = 0.01 }
#endif


/**
 * Major version of the header.
 */
#define SEQTUNE_VERSION_MAJOR 0

/**
 * Minor version of the header.
 */
#define SEQTUNE_VERSION_MINOR 1

/**
 * Patch version of the header.
 */
#define SEQTUNE_VERSION_PATCH 0

/**
 * Objective: microseconds per launch.
 */
#define SEQTUNE_TIME 0

/**
 * Objective: joules per launch.
 */
#define SEQTUNE_ENERGY 1

/**
 * Objective: energy times time.
 */
#define SEQTUNE_EDP 2

/**
 * What a predicted time is: there is none, for the model learned no times of the device, or none half as short.
 */
#define SEQTUNE_TIME_ABSENT 0

/**
 * What a predicted time is: learned of times of the device.
 */
#define SEQTUNE_TIME_LEARNED 1

/**
 * What a predicted time is: the least that the device can do, because what was learned was below it.
 */
#define SEQTUNE_TIME_BOUNDED 2

/**
 * Candidates of a prediction at most, and the widest search.
 */
#define SEQTUNE_MOST_CANDIDATES 10000

/**
 * What a function answers with. More may come: take what is unknown for a failure.
 */
typedef enum {
  /**
   * Done.
   */
  SEQTUNE_OK = 0,
  /**
   * The machine failed, or the library has a fault.
   */
  SEQTUNE_FAILED = 1,
  /**
   * An argument is wrong: a null pointer, a size, a number out of its range.
   */
  SEQTUNE_INPUT = 2,
  /**
   * A driver or a device is not on this machine.
   */
  SEQTUNE_UNAVAILABLE = 3,
  /**
   * A file is missing, or is another kind of thing.
   */
  SEQTUNE_FILE = 4,
  /**
   * A model's file is damaged or of another format.
   */
  SEQTUNE_MODEL = 5,
  /**
   * A model was made for another kernel, another version of it, or another objective.
   */
  SEQTUNE_MISMATCH = 6,
  /**
   * A kernel is not there, or its kernel.toml is wrong.
   */
  SEQTUNE_KERNEL = 7,
  /**
   * No device is described by the name, or a limit is wrong.
   */
  SEQTUNE_DEVICE = 8,
  /**
   * A problem is not one of the kernel's.
   */
  SEQTUNE_PROBLEM = 9,
  /**
   * A config is not one of the kernel's.
   */
  SEQTUNE_CONFIG = 10,
  /**
   * A config breaks a constraint; seqtune_last_error gives the reason.
   */
  SEQTUNE_ILLEGAL = 11,
  /**
   * No config is legal for the problem on the device.
   */
  SEQTUNE_NO_LEGAL_CONFIG = 12,
  /**
   * The room for the answer is too small.
   */
  SEQTUNE_TOO_SMALL = 13,
} seqtune_status;

/**
 * Chooses among a predictor's configs. Any number of threads may use one at once, except to close it.
 */
typedef struct seqtune_chooser seqtune_chooser;

/**
 * A model that is ready for one kernel and one device. All functions may be called on it by many threads at once.
 */
typedef struct seqtune_predictor seqtune_predictor;

/**
 * Memory of one thread's predictions: with it, a prediction needs no other.
 */
typedef struct seqtune_session seqtune_session;

/**
 * A predicted config.
 */
typedef struct {
  /**
   * Its values in the order of the parameters: a row of the prediction's `values`.
   */
  const int64_t *values;
  /**
   * Probability that it is the best of all legal configs; NaN where `width` is from 1 to 19 and the model shares its beam's likelihood out.
   */
  double probability;
  /**
   * Predicted time in microseconds; NaN where the model learned no times of the device, or none half as short.
   */
  double time_us;
  /**
   * Predicted joules per launch; NaN where the model learned no energy of the device.
   */
  double joules;
  /**
   * What `time_us` is: SEQTUNE_TIME_ABSENT, SEQTUNE_TIME_LEARNED or SEQTUNE_TIME_BOUNDED.
   */
  int time_basis;
} seqtune_candidate;

/**
 * What is wanted, and room for the answer. SEQTUNE_PREDICTION fills it in.
 */
typedef struct {
  /**
   * In: sizeof(seqtune_prediction), so that more can be added at its end.
   */
  size_t size;
  /**
   * In: sizeof(seqtune_candidate), likewise.
   */
  size_t candidate_size;
  /**
   * In: room for `top` candidates.
   */
  seqtune_candidate *candidates;
  /**
   * In: number of candidates wanted.
   */
  size_t top;
  /**
   * In: room for the values of `top` configs.
   */
  int64_t *values;
  /**
   * In: number of values there is room for, at least `top` times seqtune_parameter_count.
   */
  size_t value_count;
  /**
   * In: hypotheses that the search follows; 0 for the usual 20. Fewer are faster, and state no probability.
   */
  size_t width;
  /**
   * In: SEQTUNE_TIME, SEQTUNE_ENERGY or SEQTUNE_EDP.
   */
  int objective;
  /**
   * Out: 1 where the answer is less sure than what was shown of the model (seqtune_shown_of), or states no probability: measure the first few. Else 0.
   */
  int unsure;
  /**
   * Out: number of candidates, best first; fewer than `top` where fewer are legal.
   */
  size_t found;
  /**
   * In: 0.02 asks for the fewest joules among configs that are predicted to take at most 2 % longer than the fastest, whatever `objective` says;
   * 0 sets no such limit.
   */
  double within_time;
} seqtune_prediction;

/**
 * What first choices were worth on problems that nothing was learned from. Shares are from 0 to 1, and NaN where the data do not tell them.
 */
typedef struct {
  /**
   * In: sizeof(seqtune_shown), so that more can be added at its end.
   */
  size_t size;
  /**
   * Out: such problems; 0 where nothing was recorded for the device and the objective.
   */
  size_t problems;
  /**
   * Out: mean share of the best measured speed (or of what else is compared).
   */
  double mean;
  /**
   * Out: its tenth percentile.
   */
  double p10;
  /**
   * Out: of tuned configs, the share of the problems whose tuned config came first.
   */
  double first;
  /**
   * Out: likewise, among the first five.
   */
  double five;
} seqtune_shown;

/**
 * How a chooser goes about it. SEQTUNE_CHOOSER_OPTIONS has what is usual.
 */
typedef struct {
  /**
   * sizeof(seqtune_chooser_options), so that more can be added at its end.
   */
  size_t size;
  /**
   * Configs per problem that are considered, 1 to 100.
   */
  size_t top;
  /**
   * File that choices are remembered in, shared by any number of processes; NULL remembers nothing.
   */
  const char *memory;
  /**
   * Driver that programs run through, by name and version: what was remembered under another is forgotten. NULL: that of
   * the device's description.
   */
  const char *driver;
  /**
   * Microseconds that the first use of a config costs this process (its compilation); 0 where that does not matter.
   */
  double setup_us;
  /**
   * Share of a call that trying other configs must be expected to gain; below it the choice is settled.
   */
  double tolerance;
} seqtune_chooser_options;

/**
 * A config that was chosen for a call.
 */
typedef struct {
  /**
   * Number that stands for it in seqtune_chooser_report.
   */
  uint64_t id;
  /**
   * 1 where it is the settled choice, 0 where its time is awaited.
   */
  int settled;
} seqtune_pick;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Version of the library, such as "0.1.0": that of the header where both are of one installation. Never NULL.
 */
const char *seqtune_version(void);

/**
 * Sentence of the last function that did not answer SEQTUNE_OK in this thread; "" where all did. It stays until the next
 * such answer in this thread. Never NULL.
 */
const char *seqtune_last_error(void);

/**
 * Opens a model for a kernel.
 *
 * `model` is a folder or a file. Of a folder that holds a whole model and the small one that was distilled from it, the small
 * one is taken where it was found level with the whole; name the file to have the other. `kernel` a shipped name or a folder with a kernel.toml; `device` a name as
 * seqtune_set_device takes it, or NULL for the device that the model learned: of several the one that is live on this machine, and
 * SEQTUNE_DEVICE, with a list, where none is. `*predictor` is NULL where this fails. Close it with seqtune_close.
 */
seqtune_status seqtune_open(const char *model,
                            const char *kernel,
                            const char *device,
                            seqtune_predictor **predictor);

/**
 * Opens a model from the bytes of its file (model.safetensors or distilled.safetensors), which may be freed afterwards; else as seqtune_open.
 */
seqtune_status seqtune_open_memory(const void *bytes,
                                   size_t size,
                                   const char *kernel,
                                   const char *device,
                                   seqtune_predictor **predictor);

/**
 * Closes a predictor; NULL is let pass. Its sessions go on until they are closed.
 */
void seqtune_close(seqtune_predictor *predictor);

/**
 * Opens a session: the memory of one thread's predictions. Close it with seqtune_session_close.
 */
seqtune_status seqtune_session_open(const seqtune_predictor *predictor, seqtune_session **session);

/**
 * Closes a session; NULL is let pass.
 */
void seqtune_session_close(seqtune_session *session);

/**
 * Number of the kernel's parameters: the values of one config. 0 where `predictor` is NULL.
 */
size_t seqtune_parameter_count(const seqtune_predictor *predictor);

/**
 * Name of a parameter, counted from 0; NULL where there is none.
 */
const char *seqtune_parameter_name(const seqtune_predictor *predictor, size_t parameter);

/**
 * Place of a parameter's value in a config by the parameter's name; -1 where there is none.
 */
ptrdiff_t seqtune_parameter_index(const seqtune_predictor *predictor, const char *name);

/**
 * The values that a parameter may take: `*values` leads to `*count` of them, and `*fallback` is the kernel's default, which
 * need not be legal for each problem. Each of the three may be NULL where it is not wanted.
 */
seqtune_status seqtune_parameter_values(const seqtune_predictor *predictor,
                                        size_t parameter,
                                        const int64_t **values,
                                        size_t *count,
                                        int64_t *fallback);

/**
 * Number of the fields of a problem. 0 where `predictor` is NULL.
 */
size_t seqtune_field_count(const seqtune_predictor *predictor);

/**
 * Name of a field, counted from 0; NULL where there is none.
 */
const char *seqtune_field_name(const seqtune_predictor *predictor, size_t field);

/**
 * A label of a field that is a choice, such as "f32": its number is the field's value. NULL where there is none.
 */
const char *seqtune_field_label(const seqtune_predictor *predictor,
                                size_t field,
                                size_t label);

/**
 * Sets the device by its name, that of one that the model learned or of kernels/devices.toml, such as "H200" or "rtx4090", or by a
 * .toml file. A call that another thread is in ends with the device that it began with.
 */
seqtune_status seqtune_set_device(seqtune_predictor *predictor,
                                  const char *device);

/**
 * Sets the device by its limits, each a name, such as "local_memory", and a value. A limit that is not given is unknown:
 * constraints that need it are dropped. `device` is its name: under that of a device that the model was trained on,
 * predictions are marked unsure by their probability alone.
 */
seqtune_status seqtune_set_device_limits(seqtune_predictor *predictor,
                                         const char *device,
                                         const char *const *names,
                                         const double *values,
                                         size_t count);

/**
 * Sets the device by asking CUDA's driver. `ordinal` is what cuDeviceGet and cudaSetDevice take; a CUdevice is the same
 * number. No context is made.
 */
seqtune_status seqtune_set_device_cuda(seqtune_predictor *predictor,
                                       int ordinal);

/**
 * Sets the device by asking HIP. `ordinal` is what hipDeviceGet and hipSetDevice take; a hipDevice_t is the same number.
 */
seqtune_status seqtune_set_device_hip(seqtune_predictor *predictor,
                                      int ordinal);

/**
 * Sets the device by asking OpenCL about a cl_device_id, which clGetDeviceIDs gave.
 */
seqtune_status seqtune_set_device_opencl(seqtune_predictor *predictor, void *device);

/**
 * Writes the device's name and a zero into `room` bytes at `name`. `*needed` is the number of bytes that takes, also where
 * there is too little room; `needed` may be NULL.
 */
seqtune_status seqtune_device_name(const seqtune_predictor *predictor,
                                   char *name,
                                   size_t room,
                                   size_t *needed);

/**
 * Whether the model learned from data of the device that is set: `*learned` is 1, else 0. Of a device that it never saw no time is told.
 */
seqtune_status seqtune_device_learned(const seqtune_predictor *predictor,
                                      int *learned);

/**
 * Writes what answers for the device that is set rest on into `room` bytes at `note`: of a device that the model never saw a sentence that says so,
 * which it learned from, and what that costs; else an empty text. `*needed` as of seqtune_device_name.
 */
seqtune_status seqtune_device_note(const seqtune_predictor *predictor,
                                   char *note,
                                   size_t room,
                                   size_t *needed);

/**
 * Writes the names of the devices that the model learned from, each in a line, into `room` bytes at `names`. `*needed` as of
 * seqtune_device_name.
 */
seqtune_status seqtune_learned_on(const seqtune_predictor *predictor,
                                  char *names,
                                  size_t room,
                                  size_t *needed);

/**
 * The value of a device's limit by its name, such as "local_memory"; NaN where it is unknown.
 */
seqtune_status seqtune_device_limit(const seqtune_predictor *predictor,
                                    const char *limit,
                                    double *value);

/**
 * Predicts for a problem that is written as "M=512,N=512,K=64". Fields with a default may be left out.
 *
 * `session` is one of this thread, or NULL: then the call makes one for itself. Where this fails, `prediction->found` and
 * what stands in the rooms are not to be read.
 */
seqtune_status seqtune_predict(const seqtune_predictor *predictor,
                               seqtune_session *session,
                               const char *problem,
                               seqtune_prediction *prediction);

/**
 * As seqtune_predict, of the first `count` fields by their values in the kernel's order, so that nothing is parsed. That of
 * a choice is the number of its label (seqtune_field_label). Fields after them take their default.
 */
seqtune_status seqtune_predict_sizes(const seqtune_predictor *predictor,
                                     seqtune_session *session,
                                     const int64_t *fields,
                                     size_t count,
                                     seqtune_prediction *prediction);

/**
 * As seqtune_predict_sizes, where fields are no whole numbers or stand behind such as take their default: NaN stands for
 * the default.
 */
seqtune_status seqtune_predict_values(const seqtune_predictor *predictor,
                                      seqtune_session *session,
                                      const double *fields,
                                      size_t count,
                                      seqtune_prediction *prediction);

/**
 * What was shown of the predictor on its device, for SEQTUNE_TIME, SEQTUNE_ENERGY or SEQTUNE_EDP. Answers that are less sure than nine tenths of
 * those were are marked unsure. `shown->size` is to be set.
 */
seqtune_status seqtune_shown_of(const seqtune_predictor *predictor,
                                int objective,
                                seqtune_shown *shown);

/**
 * Predicts the fastest configs, `top` at most, each as a line "MWG=64,NWG=32,...", best first, without a line's end behind
 * the last. Writes them and a zero into `room` bytes at `configs`, whole or not at all: `*needed` is the number of bytes
 * that takes; `needed` may be NULL.
 */
seqtune_status seqtune_predict_text(const seqtune_predictor *predictor,
                                    const char *problem,
                                    size_t top,
                                    char *configs,
                                    size_t room,
                                    size_t *needed);

/**
 * Writes a config's values as "MWG=64,NWG=32,...", as seqtune_predict_text does. `count` is seqtune_parameter_count.
 */
seqtune_status seqtune_config_text(const seqtune_predictor *predictor,
                                   const int64_t *values,
                                   size_t count,
                                   char *config,
                                   size_t room,
                                   size_t *needed);

/**
 * Whether a config, written "MWG=64,NWG=32,...", is legal for a problem on the device: SEQTUNE_OK, or SEQTUNE_ILLEGAL, with
 * the reason in seqtune_last_error.
 */
seqtune_status seqtune_check(const seqtune_predictor *predictor,
                             const char *problem,
                             const char *config);

/**
 * As seqtune_check, of fields as seqtune_predict_values takes them, and of a config's values, as many as
 * seqtune_parameter_count.
 */
seqtune_status seqtune_check_values(const seqtune_predictor *predictor,
                                    const double *fields,
                                    size_t field_count,
                                    const int64_t *values,
                                    size_t value_count);

/**
 * Number of the legal configs of a problem on the device; NaN where there are too many to count.
 */
seqtune_status seqtune_count(const seqtune_predictor *predictor,
                             const char *problem,
                             double *count);

/**
 * Opens a chooser among what a predictor predicts for the device that it has now. `options` may be NULL. The predictor may
 * be closed before it. Close it with seqtune_chooser_close, which writes what was learned.
 */
seqtune_status seqtune_chooser_open(const seqtune_predictor *predictor,
                                    const seqtune_chooser_options *options,
                                    seqtune_chooser **chooser);

/**
 * Closes a chooser; NULL is let pass.
 */
void seqtune_chooser_close(seqtune_chooser *chooser);

/**
 * The config for a call of a problem, which is written as "M=512,N=512,K=64": its values go into `values`, of which there
 * is room for `value_count`, at least seqtune_parameter_count.
 *
 * `session` is one of this thread and of the chooser's predictor, or NULL.
 */
seqtune_status seqtune_chooser_pick(const seqtune_chooser *chooser,
                                    seqtune_session *session,
                                    const char *problem,
                                    int64_t *values,
                                    size_t value_count,
                                    seqtune_pick *pick);

/**
 * As seqtune_chooser_pick, of the first `count` fields by their values, as seqtune_predict_sizes takes them. With a session, a settled
 * choice asks for no memory.
 */
seqtune_status seqtune_chooser_pick_sizes(const seqtune_chooser *chooser,
                                          seqtune_session *session,
                                          const int64_t *fields,
                                          size_t count,
                                          int64_t *values,
                                          size_t value_count,
                                          seqtune_pick *pick);

/**
 * What the call of a pick took: microseconds, and joules or NaN. A pick of a problem that is held no more is let pass.
 */
seqtune_status seqtune_chooser_report(const seqtune_chooser *chooser,
                                      uint64_t id,
                                      double time_us,
                                      double joules);

/**
 * Books the config of a pick as failed for its problem: it did not compile, launch or compute what it should.
 */
seqtune_status seqtune_chooser_failed(const seqtune_chooser *chooser,
                                      uint64_t id);

/**
 * Sets what is minimised (SEQTUNE_TIME, SEQTUNE_ENERGY, SEQTUNE_EDP) and what a call may take at most: microseconds, watts,
 * joules; NaN where there is no limit. The next pick follows.
 */
seqtune_status seqtune_chooser_set_goal(const seqtune_chooser *chooser,
                                        int objective,
                                        double time_us,
                                        double power_w,
                                        double joules);

/**
 * As seqtune_chooser_set_goal, with a limit to the time that follows the fastest config: with SEQTUNE_ENERGY, a `within_time` of 0.02 asks for the
 * fewest joules within 2 % of its time. NaN sets no such limit.
 */
seqtune_status seqtune_chooser_set_goal_within(const seqtune_chooser *chooser,
                                               int objective,
                                               double time_us,
                                               double power_w,
                                               double joules,
                                               double within_time);

/**
 * Writes what was learned to the file of the options; also done at times by itself.
 */
seqtune_status seqtune_chooser_save(const seqtune_chooser *chooser);

/**
 * Writes what went wrong without being in a call's way (a damaged file, a full disk), a sentence a line, and a zero into `room` bytes at
 * `text`; "" where nothing did. `*needed` is the number of bytes that takes; `needed` may be NULL. What was written is forgotten.
 */
seqtune_status seqtune_chooser_warnings(const seqtune_chooser *chooser,
                                        char *text,
                                        size_t room,
                                        size_t *needed);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SEQTUNE_H */
