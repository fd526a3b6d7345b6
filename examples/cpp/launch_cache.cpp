// How a library in C++ would use it: threads ask at each launch, and a problem is predicted once for all of them.
//
//     c++ -std=c++17 launch_cache.cpp $(pkg-config --cflags --libs seqtune) -pthread -o launch_cache
//     ./launch_cache models/gemm-cpu epyc
#include <array>
#include <cstdio>
#include <map>
#include <mutex>
#include <seqtune.hpp>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

using sizes = std::array<std::int64_t, 3>;

// Configs by their problem, for any number of threads.
class launch_cache {
public:
    launch_cache(const std::string &model, const std::string &device) : predictor_(model, "gemm", device) {}

    std::string config(const sizes &problem)
    {
        {
            std::shared_lock<std::shared_mutex> reading(mutex_);
            const auto found = known_.find(problem);
            if (found != known_.end()) return found->second;
        }
        seqtune::session session(predictor_, 1, seqtune::objective::time, 5);
        const std::string predicted = session.predict(problem.data(), problem.size())[0].text();
        std::unique_lock<std::shared_mutex> writing(mutex_);
        return known_.emplace(problem, predicted).first->second;
    }

    std::size_t size() const { return known_.size(); }
    const seqtune::predictor &predictor() const { return predictor_; }

private:
    seqtune::predictor predictor_;
    std::shared_mutex mutex_;
    std::map<sizes, std::string> known_;
};

int main(int argc, char **argv)
{
    if (argc != 3) {
        std::fprintf(stderr, "usage: %s MODEL DEVICE\n", argv[0]);
        return 2;
    }
    try {
        launch_cache cache(argv[1], argv[2]);
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&cache] {
                for (std::int64_t step = 0; step < 40; ++step) cache.config({64 * (1 + step % 4), 256, 512});
            });
        }
        for (std::thread &thread : threads) thread.join();
        std::printf("160 launches of %zu problems on %s\n", cache.size(), cache.predictor().device().c_str());

        // the first three of a problem, and whether to measure them
        seqtune::session session(cache.predictor(), 3);
        session.predict({128, 256, 512});
        for (std::size_t i = 0; i < session.size(); ++i) {
            std::printf("%5.1f %%  %8.1f us  MWG=%lld\n", 100 * session[i].probability(), session[i].time_us(),
                        static_cast<long long>(session[i]["MWG"]));
        }
        std::printf(session.unsure() ? "unsure: measure them\n" : "sure\n");
    } catch (const seqtune::error &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
