"""seqtune inside Kernel Tuner: with the real package, in its simulation mode. scripts/integrations/kernel_tuner.sh runs it."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

import seqtune

try:
    import kernel_tuner
    from kernel_tuner.strategies.wrapper import OptAlg
except ImportError:
    raise unittest.SkipTest("kernel_tuner is not installed") from None

from seqtune.kernel_tuner import Strategy, describe, describe_caches, replay, translated
from seqtune.kernel_tuner.restrictions import Untranslatable
from seqtune.kernel_tuner.strategy import _own, problem_of_size

CACHE = os.environ.get("SEQTUNE_CACHE", "")
PROBLEM = "M=1008,N=30,K=672"
QUIET = {"quiet": True, "seed": 1}


def configs(results, names):
    return [{name: int(result[name]) for name in names} for result in results]


@unittest.skipUnless(CACHE, "no exported cache is named; scripts/integrations/kernel_tuner.sh exports one and names it")
class Strategies(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = seqtune.shipped("gemm-cpu")
        cls.kernel = seqtune.Kernel("gemm")
        with open(CACHE) as file:
            cls.cache = json.load(file)

    def test_a_replayed_sweep_has_its_configs_and_times(self):
        results, environment = replay(CACHE, **QUIET)
        self.assertEqual(len(results), len(self.cache["cache"]))
        best = min(entry["time"] for entry in self.cache["cache"].values())
        self.assertEqual(environment["best_config"]["time"], best)
        self.assertEqual(environment["device_name"], self.model.devices[0].name)

    def test_predicted_configs_are_measured_first_and_a_strategy_goes_on(self):
        for then in ("random_sample", "genetic_algorithm", "hybrid_vndx", "greedy_mls", "nsga2"):
            strategy = Strategy(self.model, self.kernel, top=4, then=then)
            results, _ = replay(CACHE, strategy=strategy, strategy_options={"max_fevals": 12}, **QUIET)
            found = configs(results, self.kernel.parameters)
            self.assertEqual(found[:4], [p.config for p in strategy.predictions], then)
            self.assertEqual(len({str(config) for config in found}), len(found), "no config is there twice")
            self.assertEqual(len(found), 12, then)

    def test_nothing_goes_on_where_nothing_is_named_or_the_budget_is_spent(self):
        strategy = Strategy(self.model, self.kernel, problem=PROBLEM, top=4, then=None)
        self.assertEqual(len(replay(CACHE, strategy=strategy, **QUIET)[0]), 4)
        strategy = Strategy(self.model, self.kernel, top=10)
        self.assertEqual(len(replay(CACHE, strategy=strategy, strategy_options={"max_fevals": 3}, **QUIET)[0]), 3)

    def test_a_budget_for_the_whole_space_measures_all_of_it_whatever_goes_on_and_an_error_loses_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "small.json")
            with open(path, "w") as file:
                json.dump({**self.cache, "cache": dict(list(self.cache["cache"].items())[:32])}, file)

            def broken(searchspace, runner, tuning_options):
                runner.run(searchspace.list[:6], tuning_options)
                raise IndexError("of its own")

            # one that spends its budget on what was measured, one that converges early, one that takes no budget, one that fails on small spaces, and one that always fails
            for then in ("random_sample", "genetic_algorithm", "brute_force", "diff_evo", broken):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    results, _ = replay(path, strategy=Strategy(self.model, self.kernel, top=4, then=then), strategy_options={"max_fevals": 32}, **QUIET)
                self.assertEqual(len({str(config) for config in configs(results, self.kernel.parameters)}), 32, then)
            with self.assertWarnsRegex(UserWarning, "ended in IndexError: of its own; what was measured before is kept"):
                results, _ = replay(path, strategy=Strategy(self.model, self.kernel, top=4, then=broken), **QUIET)
            self.assertTrue(6 <= len(results) <= 10, len(results))
            results, _ = replay(path, strategy=Strategy(self.model, self.kernel, top=4, then="brute_force"), strategy_options={"max_fevals": 9}, **QUIET)
            self.assertEqual(len(results), 9, "a budget is kept")

    def test_functions_and_their_own_algorithms_go_on_too(self):
        class Last(OptAlg):
            def __call__(self, func, searchspace):
                func(searchspace.list[-1])

        called = []

        def own(searchspace, runner, tuning_options):
            called.append(tuning_options.strategy_options["x0"])
            return []

        strategy = Strategy(self.model, self.kernel, top=2, then=Last())
        self.assertEqual(len(replay(CACHE, strategy=strategy, **QUIET)[0]), 3)
        strategy = Strategy(self.model, self.kernel, top=2, then=own)
        results, environment = replay(CACHE, strategy=strategy, **QUIET)
        names = list(self.cache["tune_params_keys"])
        self.assertEqual(called, [[environment["best_config"][name] for name in names]])

    def test_what_does_not_fit_is_told(self):
        with self.assertRaisesRegex(seqtune.InputError, "then='magic' is not one of"):
            replay(CACHE, strategy=Strategy(self.model, self.kernel, top=1, then="magic"), **QUIET)
        with self.assertRaisesRegex(seqtune.InputError, "top=0"):
            Strategy(self.model, self.kernel, top=0)
        with self.assertRaises(seqtune.MismatchError):
            Strategy(self.model, "conv2d")
        with self.assertRaises(seqtune.ProblemError):
            replay(CACHE, strategy=Strategy(self.model, self.kernel, problem="M=1"), **QUIET)

    def test_values_are_handed_back_as_tune_params_has_them(self):
        for values, value, own in (([True, False], 1, True), ([True, False], 0, False), ([False, True], "True", True), ([64.0, 128.0], 128, 128.0)):
            found = _own(values, value)
            self.assertEqual((found, type(found)), (own, type(own)))

    def test_a_strategy_that_is_none_is_refused_before_anything_is_measured(self):
        for wrong in ("genetic", "then"):
            with self.assertRaisesRegex(seqtune.InputError, f"then='{wrong}' is not one of"):
                Strategy(self.model, self.kernel, then=wrong)
        with self.assertRaisesRegex(seqtune.InputError, "top='5' is no whole number"):
            Strategy(self.model, self.kernel, top="5")

    def test_a_file_that_is_no_cache_is_told_in_a_sentence(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(seqtune.FileError, "No such file"):
                replay(os.path.join(folder, "missing.json"), **QUIET)
            for content in (b"[1, 2]", b"{", b"\xff\xfe", json.dumps({**self.cache, "cache": 3}).encode()):
                path = os.path.join(folder, "other.json")
                with open(path, "wb") as file:
                    file.write(content)
                with self.assertRaisesRegex(seqtune.InputError, "other.json is no cache file of Kernel Tuner's, which has cache, "):
                    replay(path, **QUIET)

    def test_sizes_that_tell_no_problem_are_told(self):
        for size, words in ((lambda p: 3, "tells no sizes"), ((1, 2), "has 2 sizes and kernel gemm 3"), ("n", "tells no sizes")):
            with self.assertRaisesRegex(seqtune.InputError, words):
                problem_of_size(self.kernel, size)

    def test_another_device_is_warned_of_where_it_is_named_and_else_refused_by_a_model_of_several(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "other.json")
            with open(path, "w") as file:
                json.dump({**self.cache, "device_name": "another"}, file)
            with self.assertWarns(seqtune.UnseenDeviceWarning):
                Strategy(self.model, self.kernel, device="H200")
            with self.assertRaisesRegex(seqtune.DeviceNotFoundError, "Kernel Tuner tunes on another, and the model learned"):
                replay(path, strategy=Strategy(self.model, self.kernel, top=1, then=None), **QUIET)
            named = Strategy(self.model, self.kernel, device="epyc", top=1, then=None)
            self.assertEqual(len(replay(path, strategy=named, **QUIET)[0]), 1)


class Descriptions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "add")

    def test_restrictions_become_constraints_of_the_same_space(self):
        params = {"block_size_x": [16, 32, 64, 128], "block_size_y": [1, 2, 4], "tile": [1, 2, 3, 4], "pad": [0, 1]}
        restrictions = [
            "block_size_x*block_size_y<=256 and tile%2 == 0 or pad == 1",
            "32 <= block_size_x * tile <= 256",
            "tile not in [3]",
            "not (pad and block_size_y ** 2 > 4)",
            "max(tile, block_size_y) >= 2",
            lambda p: p["tile"] != 4 or p["block_size_x"] // 32 < 4,
        ]
        done = describe(self.folder, params, restrictions, (512, 512), device="NVIDIA A100")
        self.assertEqual((done.unread, done.device), ([], "A100"))
        from kernel_tuner.searchspace import Searchspace

        theirs = Searchspace(params, restrictions, 1024)
        ours = seqtune.Space(done.kernel, "size_x=512,size_y=512", seqtune.Device.from_limits("x", max_group_items=1024))
        self.assertEqual(sorted(theirs.list), sorted(tuple(config[name] for name in params) for config in ours))
        self.assertIn(done.kernel.default, ours)
        self.assertEqual(seqtune.Kernel(self.folder).space_hash, done.kernel.space_hash)

    def test_what_expressions_cannot_say_stays_a_check(self):
        def function(p):
            return p["tile"] > 1

        done = describe(self.folder, {"tile": [1, 2]}, [function, "tile.bit_length() > 1"], 10)
        self.assertEqual(done.constraints, [])
        self.assertEqual(len(done.unread), 2)
        for text in ("a ** b", "other > 1", "a if b else [c]", "[a]", "a is b", "f(a)", ""):
            with self.assertRaises(Untranslatable):
                translated(text, ["a", "b", "c"])

    def test_a_description_of_another_space_is_replaced_only_where_that_is_asked(self):
        describe(self.folder, {"tile": [1, 2]}, ["tile > 1"], 10)
        describe(self.folder, {"tile": [1, 2]}, ["tile > 1"], 10)
        with self.assertRaisesRegex(seqtune.InputError, "says otherwise: line"):
            describe(self.folder, {"tile": [1, 2]}, None, 10)
        self.assertEqual(len(seqtune.Kernel(self.folder).constraints), 1)
        describe(self.folder, {"tile": [1, 2]}, None, 10, replace=True)
        self.assertEqual(len(seqtune.Kernel(self.folder).constraints), 0)

    def test_values_that_are_no_whole_numbers_are_told(self):
        for values in (["a", 1], ["a b"], [1.5], [True, 1], []):
            with self.assertRaisesRegex(seqtune.InputError, r"tune_params\['p'\] has"):
                describe(self.folder, {"p": values}, None, 10)
        with self.assertRaisesRegex(seqtune.InputError, "give problem_size"):
            describe(self.folder, {"p": [1]}, None, None)

    def test_caches_tell_their_kernel_and_the_command_says_the_same(self):
        caches = []
        for size in (64, 128):
            path = f"{self.folder}_{size}.json"
            cache = {"device_name": "my CPU", "kernel_name": "add", "problem_size": size, "tune_params_keys": ["wg"]}
            cache.update(tune_params={"wg": [1, size]}, cache={"1": {"wg": 1, "time": 1.0, "times": [1.0]}})
            with open(path, "w") as file:
                file.write(json.dumps(cache)[:-2] + ",")  # as an interrupted run leaves it
            caches.append(path)
        done = describe_caches(self.folder, caches, ["wg > 0"])
        self.assertEqual(done.kernel.parameters, {"wg": [1, 64, 128]})
        self.assertEqual(seqtune.Device(done.device).name, "my CPU")
        words = [sys.executable, "-m", "seqtune.kernel_tuner", "describe", *caches, "-o", self.folder + "2", "--restriction", "wg > 0"]
        done = subprocess.run(words, capture_output=True, text=True)
        self.assertIn("1 parameter, 1 constraint", done.stdout, done.stderr)
        words[4:6] = [caches[0] + "x"]
        done = subprocess.run(words, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("No such file", done.stderr)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    unittest.main()
