"""The decorator for Triton kernels, on a stand-in; scripts/integrations/triton.sh meets Triton itself."""

import sys
import unittest
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).parent))
import stand_ins  # noqa: E402

import seqtune  # noqa: E402
import seqtune.triton as door  # noqa: E402
from seqtune import triton_resources as resources  # noqa: E402

KERNEL = SimpleNamespace(name="k", fields={"M": {}}, parameters={"BLOCK": [16, 32], "num_warps": [4], "waves_per_eu": [0]})
CONFIGS = [{"BLOCK": 16, "num_warps": 4}, {"BLOCK": 32, "num_warps": 8}, {"BLOCK": 64, "num_warps": 2}, {"BLOCK": 128, "num_warps": 1}]


class Kernel:
    """What `triton.jit` makes."""

    __name__ = "kernel"
    arg_names = ("a", "M", "BLOCK")


class Tuned(unittest.TestCase):
    def tuned(self, measures_one, unsure, **options):
        door._classes.clear()
        self.addCleanup(door._classes.clear)
        where = stand_ins.installed(stand_ins.triton(measures_one))
        where.__enter__()
        self.addCleanup(where.__exit__, None, None, None)
        self.predictor = stand_ins.Predictor([stand_ins.prediction(config, unsure) for config in CONFIGS], KERNEL)
        times = iter([[3.0] * 3, [1.0] * 3, [2.0] * 3])
        return door.autotune(self.predictor, **{"key": ["M"], "do_bench": lambda call, quantiles: next(times), **options})(Kernel())

    def test_a_sure_config_is_taken_unmeasured_by_old_and_new_versions(self):
        for measures_one in (True, False):
            kernel = self.tuned(measures_one, unsure=False, cache_results=True)
            for size in (5, 6, 5):
                kernel.run("tensor", size)
            self.assertEqual((kernel.asked, kernel.measured, kernel.kept), (2, 0, []))
            self.assertEqual(self.predictor.asked, [{"M": 5}, {"M": 6}])
            self.assertEqual(kernel.best_config, stand_ins.Config({"BLOCK": 16}, num_warps=4))

    def test_the_first_few_are_measured_and_kept_where_the_model_is_unsure(self):
        kernel = self.tuned(True, unsure=True, top=3, cache_results=True)
        kernel.run("tensor", 5)
        kernel.run("tensor", 5)
        self.assertEqual((kernel.asked, kernel.measured, len(kernel.kept)), (1, 3, 1))
        self.assertEqual(kernel.best_config, stand_ins.Config({"BLOCK": 32}, num_warps=8))

    def test_another_goal_is_asked_for_and_not_measured_by_time(self):
        kernel = self.tuned(True, unsure=True, top=3, within_time=0.02)
        kernel.run("tensor", 5)
        self.assertEqual((kernel.asked, kernel.measured), (1, 0))
        self.assertEqual(self.predictor.goal, {"objective": "time", "within_time": 0.02})
        self.tuned(True, unsure=True, objective="energy").run("tensor", 5)
        self.assertEqual(self.predictor.goal, {"objective": "energy", "within_time": None})
        self.tuned(True, unsure=True).run("tensor", 5)
        self.assertEqual(self.predictor.goal, {})

    def test_what_is_not_allowed_makes_room_for_the_next(self):
        kernel = self.tuned(False, unsure=False, allowed=lambda config, args: config.num_warps < 4 and args["M"] == 5)
        kernel.run("tensor", 5)
        self.assertEqual(kernel.best_config.num_warps, 2)
        with self.assertRaisesRegex(seqtune.InputError, "none of the first .* may be tried"):
            kernel.run("tensor", 6)

    def test_a_problem_of_ones_own_is_made_of_the_arguments(self):
        kernel = self.tuned(False, unsure=False, problem=lambda args: {"M": 2 * args["M"]})
        kernel.run("tensor", 5)
        self.assertEqual(self.predictor.asked, [{"M": 10}])

    def test_wrong_input_gets_a_sentence(self):
        for options, sentence in [
            ({"key": ["rows"]}, "key names `rows`, which is no argument of kernel \\(a, M, BLOCK\\)"),
            ({"configs": []}, "configs is what seqtune"),
            ({"top": 0}, "top is 0"),
        ]:
            with self.assertRaisesRegex(seqtune.InputError, sentence):
                self.tuned(False, False, **options)
        other = SimpleNamespace(name="k", fields={}, parameters={"TILE": [1]})
        with self.assertRaisesRegex(seqtune.InputError, "kernel has no argument `TILE`, a parameter of kernel k"):
            door.check_names(stand_ins.Predictor([], other), Kernel(), [])


class Parts(unittest.TestCase):
    def test_launch_options_are_told_apart_from_the_constants(self):
        with stand_ins.installed(stand_ins.triton(True)):
            config = door.to_config({"BLOCK_M": 16, "numwarps": 2, "num_stages": 5, "maxnreg": 0, "waves_per_eu": 2})
            self.assertEqual(config, stand_ins.Config({"BLOCK_M": 16, "waves_per_eu": 2}, num_warps=2, num_stages=5))
            self.assertEqual(door.to_config({"maxnreg": 128}).maxnreg, 128)
            # labels that the import of Triton's files makes of null, true and false
            labels = {"EVICT": "evict_first", "MASK": "None", "FAST": "True", "BLOCK": 128}
            self.assertEqual(door.to_config(labels).kwargs, {"EVICT": "evict_first", "MASK": None, "FAST": True, "BLOCK": 128})

    def test_a_fixed_list_holds_each_config_once(self):
        with stand_ins.installed(stand_ins.triton(True)):
            predictor = stand_ins.Predictor([stand_ins.prediction(config) for config in CONFIGS])
            self.assertEqual(len(door.configs(predictor, ["M=1", "M=2"], top=2)), 2)
            with self.assertRaisesRegex(seqtune.InputError, "no problem"):
                door.configs(predictor, [])

    def test_a_field_dtype_is_the_first_tensors(self):
        tensor = SimpleNamespace(dtype="torch.bfloat16")
        fields = {"M": {}, "dtype": {"labels": ["f16", "bf16"]}}
        self.assertEqual(door.problem_of(fields, {"a": tensor, "M": 3}), {"M": 3, "dtype": "bf16"})
        with self.assertRaisesRegex(seqtune.InputError, "no label for int8"):
            door.problem_of(fields, {"a": SimpleNamespace(dtype="torch.int8")})

    def test_a_launch_is_described_with_its_hints(self):
        fn = SimpleNamespace(
            arg_names=["a", "M", "one", "scale", "BLOCK"],
            params=[SimpleNamespace(name=n, is_constexpr=n == "BLOCK") for n in ("a", "M", "one", "scale", "BLOCK")],
        )
        args = {"a": SimpleNamespace(dtype="torch.float16"), "M": 64, "one": 1, "scale": 0.5}
        types, constants, hints = resources.signature_of(fn, args, SimpleNamespace(kwargs={"BLOCK": 32}))
        self.assertEqual(types, {"a": "*fp16", "M": "i32", "one": "constexpr", "scale": "fp32", "BLOCK": "constexpr"})
        self.assertEqual((constants, sorted(hints)), ({"one": 1, "BLOCK": 32}, [(0,), (1,)]))
        fn.__name__ = "add"
        with self.assertRaisesRegex(seqtune.InputError, "`a` of add is of complex64, which is not known here"):
            resources.signature_of(fn, {**args, "a": SimpleNamespace(dtype="torch.complex64")}, SimpleNamespace(kwargs={}))

    def test_architectures_and_limits(self):
        self.assertEqual(resources.target_of("gfx90a"), ("hip", "gfx90a", 64))
        self.assertEqual(resources.target_of("gfx1030"), ("hip", "gfx1030", 32))
        with self.assertRaisesRegex(seqtune.InputError, "not for `cpu`"):
            resources.target_of("cpu")
        self.assertEqual(resources.over(seqtune.Device("A100").limits, 256, 166_912, 255, "cuda"), "")
        self.assertIn("shared memory", resources.over(seqtune.Device("A100").limits, 256, 166_913, 255, "cuda"))
        self.assertIn("threads", resources.over(seqtune.Device("A100").limits, 2048, 0, 8, "cuda"))
        self.assertEqual(resources.over({}, 10**6, 10**9, None, "hip"), "")

    def test_what_tools_print_is_read(self):
        self.assertEqual(resources.of_nvidia("REG:32 STACK:8 SHARED:0 LOCAL:0"), (32, 8))
        self.assertEqual(resources.of_nvidia("nothing"), (None, None))
        self.assertEqual(resources.of_amd("nothing"), (None, None))


if __name__ == "__main__":
    unittest.main()
