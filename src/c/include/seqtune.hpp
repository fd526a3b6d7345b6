// seqtune.h for C++17: what is opened is closed, what fails throws, and a session holds the room for its answers.
// docs/integrations/c.md shows its use.
#ifndef SEQTUNE_HPP
#define SEQTUNE_HPP

#include "seqtune.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace seqtune {

// What a function of the library answered, with its sentence.
class error : public std::runtime_error {
public:
    error(seqtune_status status, const std::string &sentence) : std::runtime_error(sentence), status_(status) {}
    seqtune_status status() const noexcept { return status_; }

private:
    seqtune_status status_;
};

// Throws unless the status is that of success.
inline void check(seqtune_status status)
{
    if (status != SEQTUNE_OK) throw error(status, seqtune_last_error());
}

// The text that `write` writes into a room that is large enough.
template <typename Write> std::string text_of(Write write)
{
    std::string room(256, '\0');
    std::size_t needed = 0;
    seqtune_status status = write(&room[0], room.size(), &needed);
    while (status == SEQTUNE_TOO_SMALL) {
        room.resize(needed);
        status = write(&room[0], room.size(), &needed);
    }
    check(status);
    room.resize(needed - 1);
    return room;
}

enum class objective { time = SEQTUNE_TIME, energy = SEQTUNE_ENERGY, edp = SEQTUNE_EDP };

// A model for one kernel and one device. Any number of threads may use one at once.
class predictor {
public:
    // Of a model's folder or file; of the device that it was trained on where none is named.
    predictor(const std::string &model, const std::string &kernel, const std::string &device = {})
    {
        seqtune_predictor *opened = nullptr;
        check(seqtune_open(model.c_str(), kernel.c_str(), device.empty() ? nullptr : device.c_str(), &opened));
        handle_.reset(opened);
    }

    // Of the bytes of a model's file.
    predictor(const void *bytes, std::size_t size, const std::string &kernel, const std::string &device = {})
    {
        seqtune_predictor *opened = nullptr;
        check(seqtune_open_memory(bytes, size, kernel.c_str(), device.empty() ? nullptr : device.c_str(), &opened));
        handle_.reset(opened);
    }

    const seqtune_predictor *get() const noexcept { return handle_.get(); }

    void set_device(const std::string &name) { check(seqtune_set_device(handle_.get(), name.c_str())); }
    void set_device_cuda(int ordinal) { check(seqtune_set_device_cuda(handle_.get(), ordinal)); }
    void set_device_hip(int ordinal) { check(seqtune_set_device_hip(handle_.get(), ordinal)); }
    void set_device_opencl(void *device) { check(seqtune_set_device_opencl(handle_.get(), device)); }
    void set_device(const std::string &name, const std::vector<std::pair<std::string, double>> &limits)
    {
        std::vector<const char *> names;
        std::vector<double> values;
        for (const auto &[limit, value] : limits) {
            names.push_back(limit.c_str());
            values.push_back(value);
        }
        check(seqtune_set_device_limits(handle_.get(), name.c_str(), names.data(), values.data(), names.size()));
    }

    std::string device() const
    {
        return text_of([&](char *at, std::size_t room, std::size_t *needed) {
            return seqtune_device_name(get(), at, room, needed);
        });
    }

    // Whether the model learned from data of the device that is set.
    bool device_learned() const
    {
        int learned = 0;
        check(seqtune_device_learned(get(), &learned));
        return learned != 0;
    }

    // Of a device that the model never saw a sentence that says so, with what that costs; else "".
    std::string device_note() const
    {
        return text_of([&](char *at, std::size_t room, std::size_t *needed) {
            return seqtune_device_note(get(), at, room, needed);
        });
    }

    // Names of the devices that the model learned from, each in a line.
    std::string learned_on() const
    {
        return text_of([&](char *at, std::size_t room, std::size_t *needed) {
            return seqtune_learned_on(get(), at, room, needed);
        });
    }

    // NaN where it is unknown.
    double device_limit(const std::string &name) const
    {
        double value = 0;
        check(seqtune_device_limit(get(), name.c_str(), &value));
        return value;
    }

    std::vector<std::string> parameters() const
    {
        std::vector<std::string> names;
        for (std::size_t i = 0; i < seqtune_parameter_count(get()); ++i) {
            names.emplace_back(seqtune_parameter_name(get(), i));
        }
        return names;
    }

    std::vector<std::string> fields() const
    {
        std::vector<std::string> names;
        for (std::size_t i = 0; i < seqtune_field_count(get()); ++i) names.emplace_back(seqtune_field_name(get(), i));
        return names;
    }

    // Place of a parameter's value in a config.
    std::size_t parameter(const std::string &name) const
    {
        const std::ptrdiff_t at = seqtune_parameter_index(get(), name.c_str());
        if (at < 0) throw error(SEQTUNE_INPUT, seqtune_last_error());
        return static_cast<std::size_t>(at);
    }

    // "" where the config is legal for the problem, else the reason why it is not.
    std::string violation(const std::string &problem, const std::string &config) const
    {
        const seqtune_status status = seqtune_check(get(), problem.c_str(), config.c_str());
        if (status == SEQTUNE_ILLEGAL) return seqtune_last_error();
        check(status);
        return {};
    }

    // Number of legal configs; NaN where there are too many to count.
    double count(const std::string &problem) const
    {
        double count = 0;
        check(seqtune_count(get(), problem.c_str(), &count));
        return count;
    }

    // A config's values as "A=1,B=2".
    std::string config_text(const std::int64_t *values) const
    {
        return text_of([&](char *at, std::size_t room, std::size_t *needed) {
            return seqtune_config_text(get(), values, seqtune_parameter_count(get()), at, room, needed);
        });
    }

private:
    struct closer {
        void operator()(seqtune_predictor *predictor) const noexcept { seqtune_close(predictor); }
    };

    std::unique_ptr<seqtune_predictor, closer> handle_;
};

// A predicted config; it belongs to its session, until that predicts again.
class candidate {
public:
    candidate(const predictor &of, const seqtune_candidate &found) : of_(&of), found_(&found) {}

    const std::int64_t *values() const noexcept { return found_->values; }
    std::int64_t operator[](const std::string &parameter) const { return found_->values[of_->parameter(parameter)]; }
    double probability() const noexcept { return found_->probability; }
    // In microseconds; NaN where the model learned no times of the device.
    double time_us() const noexcept { return found_->time_us; }
    // SEQTUNE_TIME_ABSENT, SEQTUNE_TIME_LEARNED or SEQTUNE_TIME_BOUNDED.
    int time_basis() const noexcept { return found_->time_basis; }
    // NaN where the model learned no energy of the device.
    double joules() const noexcept { return found_->joules; }
    std::string text() const { return of_->config_text(found_->values); }

private:
    const predictor *of_;
    const seqtune_candidate *found_;
};

// Predictions of one thread, of at most `top` candidates each. The predictor has to outlive it, and to stay where it is.
class session {
public:
    // `within_time` of 0.02 asks for the fewest joules within 2 % of the fastest config's time; 0 sets no such limit.
    explicit session(const predictor &of, std::size_t top = 1, objective aim = objective::time, std::size_t width = 0,
                     double within_time = 0)
        : of_(&of), candidates_(within(top)), values_(top * seqtune_parameter_count(of.get()))
    {
        seqtune_session *opened = nullptr;
        check(seqtune_session_open(of.get(), &opened));
        handle_.reset(opened);
        prediction_.size = sizeof prediction_;
        prediction_.candidate_size = sizeof(seqtune_candidate);
        prediction_.candidates = candidates_.data();
        prediction_.top = top;
        prediction_.values = values_.data();
        prediction_.value_count = values_.size();
        prediction_.width = width;
        prediction_.objective = static_cast<int>(aim);
        prediction_.within_time = within_time;
    }

    // For a problem written as "M=512,N=512,K=64".
    session &predict(const char *problem)
    {
        return done(seqtune_predict(of_->get(), handle_.get(), problem, &prediction_));
    }
    session &predict(const std::string &problem) { return predict(problem.c_str()); }
    // For a problem by its first fields, in the kernel's order.
    session &predict(std::initializer_list<std::int64_t> fields) { return predict(fields.begin(), fields.size()); }
    session &predict(const std::int64_t *fields, std::size_t count)
    {
        return done(seqtune_predict_sizes(of_->get(), handle_.get(), fields, count, &prediction_));
    }
    // The same with NaN for a default.
    session &predict(const double *fields, std::size_t count)
    {
        return done(seqtune_predict_values(of_->get(), handle_.get(), fields, count, &prediction_));
    }

    // Candidates of the last prediction, best first.
    std::size_t size() const noexcept { return prediction_.found; }
    candidate operator[](std::size_t at) const { return candidate(*of_, candidates_.at(at)); }
    // Whether its first choice should not be trusted: measure the first few.
    bool unsure() const noexcept { return prediction_.unsure != 0; }

private:
    friend class chooser;
    struct closer {
        void operator()(seqtune_session *session) const noexcept { seqtune_session_close(session); }
    };

    // A number of candidates that the library answers with: room for a wrong one is not asked for.
    static std::size_t within(std::size_t top)
    {
        if (top > SEQTUNE_MOST_CANDIDATES)
            throw error(SEQTUNE_INPUT, "top is " + std::to_string(top) + ": ask for 1 to " +
                                           std::to_string(SEQTUNE_MOST_CANDIDATES));
        return top;
    }

    session &done(seqtune_status status)
    {
        if (status != SEQTUNE_OK) prediction_.found = 0;
        check(status);
        return *this;
    }

    const predictor *of_;
    std::vector<seqtune_candidate> candidates_;
    std::vector<std::int64_t> values_;
    seqtune_prediction prediction_{};
    std::unique_ptr<seqtune_session, closer> handle_;
};

// How a chooser goes about it; what it is unless set otherwise.
struct chooser_options {
    std::size_t top = 5;     // configs per problem that are considered, 1 to 100
    std::string memory = {}; // file that choices are remembered in; "" remembers nothing
    std::string driver = {}; // by name and version; "" is that of the device's description
    double setup_us = 0;     // what the first use of a config costs this process
    double tolerance = 0.01; // share of a call that trying others must be expected to gain
};

// What a chooser minimises, and what a call may take at most; NaN is no limit.
struct goal {
    objective aim = objective::time;
    double time_us = std::numeric_limits<double>::quiet_NaN();
    double power_w = std::numeric_limits<double>::quiet_NaN();
    double joules = std::numeric_limits<double>::quiet_NaN();
    double within_time = std::numeric_limits<double>::quiet_NaN(); // share above the time of the fastest config
};

// A config that was chosen for a call.
class pick {
public:
    std::uint64_t id() const noexcept { return pick_.id; }
    bool settled() const noexcept { return pick_.settled != 0; }
    // In the order of the parameters.
    const std::vector<std::int64_t> &values() const noexcept { return values_; }

private:
    friend class chooser;
    seqtune_pick pick_{};
    std::vector<std::int64_t> values_;
};

// Chooses a config for each call, by predictions and reported times. Any number of threads may use one at once.
class chooser {
public:
    explicit chooser(const predictor &of, const chooser_options &how = {}) : count_(seqtune_parameter_count(of.get()))
    {
        seqtune_chooser_options options{};
        options.size = sizeof options;
        options.top = how.top;
        options.memory = how.memory.empty() ? nullptr : how.memory.c_str();
        options.driver = how.driver.empty() ? nullptr : how.driver.c_str();
        options.setup_us = how.setup_us;
        options.tolerance = how.tolerance;
        seqtune_chooser *opened = nullptr;
        check(seqtune_chooser_open(of.get(), &options, &opened));
        handle_.reset(opened);
    }

    // For a problem written as "M=512,N=512,K=64".
    pick choose(const std::string &problem) const
    {
        pick chosen;
        choose(problem.c_str(), chosen);
        return chosen;
    }
    // For a problem by its first fields, in the kernel's order.
    pick choose(std::initializer_list<std::int64_t> fields) const
    {
        pick chosen;
        choose(fields.begin(), fields.size(), chosen);
        return chosen;
    }
    // The same into a pick that is used again; with a session of this thread a settled choice asks for no memory.
    void choose(const char *problem, pick &chosen, const session *with = nullptr) const
    {
        chosen.values_.resize(count_);
        check(seqtune_chooser_pick(handle_.get(), of(with), problem, chosen.values_.data(), count_, &chosen.pick_));
    }
    void choose(const std::int64_t *fields, std::size_t count, pick &chosen, const session *with = nullptr) const
    {
        chosen.values_.resize(count_);
        check(seqtune_chooser_pick_sizes(handle_.get(), of(with), fields, count, chosen.values_.data(), count_, &chosen.pick_));
    }

    // What the call of a pick took.
    void report(const pick &of, double time_us, double joules = std::numeric_limits<double>::quiet_NaN()) const
    {
        check(seqtune_chooser_report(handle_.get(), of.id(), time_us, joules));
    }
    void failed(const pick &of) const { check(seqtune_chooser_failed(handle_.get(), of.id())); }
    void set_goal(const goal &to) const
    {
        check(seqtune_chooser_set_goal_within(handle_.get(), static_cast<int>(to.aim), to.time_us, to.power_w, to.joules,
                                              to.within_time));
    }
    void save() const { check(seqtune_chooser_save(handle_.get())); }
    // What went wrong without being in a call's way, a sentence a line; it is forgotten.
    std::string warnings() const
    {
        return text_of([&](char *at, std::size_t room, std::size_t *needed) {
            return seqtune_chooser_warnings(handle_.get(), at, room, needed);
        });
    }

private:
    static seqtune_session *of(const session *with) noexcept { return with ? with->handle_.get() : nullptr; }

    struct closer {
        void operator()(seqtune_chooser *chooser) const noexcept { seqtune_chooser_close(chooser); }
    };

    std::size_t count_;
    std::unique_ptr<seqtune_chooser, closer> handle_;
};

} // namespace seqtune

#endif
