"""Inductor's choices, on a stand-in; scripts/integrations/inductor.sh meets PyTorch itself."""

import pickle
import sys
import unittest
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).parent))
import stand_ins  # noqa: E402

import seqtune  # noqa: E402
import seqtune.inductor as door  # noqa: E402

CONFIGS = [{"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": step, "numstages": 3, "numwarps": 4} for step in (32, 64, 16, 128)]
OFFERED = ["aten::mm", "triton::mm", "contiguous_mm"]
FIELDS = list(seqtune.Kernel("triton_mm").fields)


def product(m=1152, n=1024, k=96, dtype="float16", divides=None, **more):
    strides = more.pop("strides", ((k, 1), (n, 1)))
    return door.Product(m, n, k, (dtype, more.pop("second", dtype)), strides, "A100", False, divides or (lambda step: k % step == 0))


class Choices(unittest.TestCase):
    def chooser(self, unsure=False, **options):
        self.predictor = stand_ins.Predictor([stand_ins.prediction(config, unsure) for config in CONFIGS])
        return door.Chooser(lambda name: self.predictor, FIELDS, **options)

    def test_a_sure_config_comes_with_the_library_and_with_all_options(self):
        found = self.chooser().entries("mm", product(), OFFERED)
        entry = {
            "BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 32, "GROUP_M": 8, "num_stages": 3, "num_warps": 4,
            "EVEN_K": True, "ACC_TYPE": "tl.float32", "USE_FAST_ACCUM": False,
        }  # fmt: skip
        self.assertEqual(found, {"triton::mm": [entry], "aten::mm": [{}]})
        # a problem as AutoHeuristic's columns tell it, which the kernel reads
        [problem] = self.predictor.asked
        self.assertEqual(seqtune.Kernel("triton_mm").problem(problem)["mat2_stride_0"], 1024)

    def test_a_sure_config_stands_alone_only_where_that_is_asked(self):
        self.assertEqual(list(self.chooser(library="unsure").entries("mm", product(), OFFERED)), ["triton::mm"])
        found = self.chooser(unsure=True, library="unsure", top=2).entries("addmm", product(), ["aten::bias_addmm", "aten::addmm", "triton::mm"])
        self.assertEqual({uid: len(entries) for uid, entries in found.items()}, {"triton::mm": 2, "aten::bias_addmm": 1, "aten::addmm": 1})

    def test_a_step_is_even_only_where_it_divides_the_sum_for_sure(self):
        chooser = self.chooser(unsure=True, top=4)
        even = [entry["EVEN_K"] for entry in chooser.entries("mm", product(k=96), OFFERED)["triton::mm"]]
        self.assertEqual(even, [True, False, True, False])
        symbolic = chooser.entries("mm", product(k=96, divides=lambda step: False), OFFERED)["triton::mm"]
        self.assertEqual([entry["EVEN_K"] for entry in symbolic], [False] * 4)
        self.assertEqual((chooser.asked, chooser.hits), (1, 2))

    def test_what_the_model_does_not_know_is_left_to_inductor(self):
        chooser = self.chooser()
        for op, asked, offered in [
            ("bmm", product(), OFFERED),
            ("mm", product(), ["aten::mm"]),
            ("mm", product(), [*OFFERED, "decompose_k"]),
            ("mm", product(dtype="float64"), OFFERED),
            ("mm", product(second="bfloat16"), OFFERED),
        ]:
            self.assertEqual(chooser.entries(op, asked, offered), {})
        self.predictor.predict = lambda *args, **more: (_ for _ in ()).throw(seqtune.ProblemError("m is too large"))
        self.assertEqual((chooser.entries("mm", product(), OFFERED), chooser.hits), ({}, 0))

    def test_wrong_options_get_a_sentence(self):
        with self.assertRaisesRegex(seqtune.InputError, "library is 'never'"):
            self.chooser(library="never")
        with self.assertRaisesRegex(seqtune.InputError, "top is 0"):
            self.chooser(top=0)
        with self.assertRaisesRegex(seqtune.InputError, "gemm has a field `M` that Inductor does not tell"):
            door._check(seqtune.Kernel("gemm"))
        with self.assertRaisesRegex(seqtune.MismatchError, "made for gemm, not kernel triton_mm"):
            door.install(seqtune.shipped("gemm-cpu"))
        with self.assertRaisesRegex(seqtune.UnavailableError, "no described device is called Nothing 9"):
            door._predictor_for(seqtune.shipped("gemm-cpu"), None, "Nothing 9")


class Installed(unittest.TestCase):
    def inductor(self, registers):
        modules = stand_ins.torch(registers)
        where = stand_ins.installed(modules)
        where.__enter__()
        self.addCleanup(where.__exit__, None, None, None)
        door._handler_class.cache_clear()
        self.addCleanup(door._handler_class.cache_clear)
        self.predictor = stand_ins.Predictor([stand_ins.prediction(config) for config in CONFIGS])
        chooser = door.Chooser(lambda name: self.predictor, FIELDS)
        door.install_chooser(chooser, "key")
        return {module.__name__.rsplit(".", 1)[-1]: module for module in modules[1:5]}, chooser

    def test_the_handler_is_made_in_each_thread_and_names_its_model_in_the_cache(self):
        modules, _ = self.inductor(registers=False)
        factory = modules["config"].inductor_choices_class
        self.assertIn(b"key", pickle.dumps(factory))
        self.assertEqual(factory().uuid(), "seqtune-key")
        self.assertEqual(len(modules["virtualized"].V.handlers), 1)
        door.uninstall()
        self.assertIsNone(modules["config"].inductor_choices_class)

    def test_newer_versions_register_it(self):
        modules, _ = self.inductor(registers=True)
        self.assertEqual(modules["choices"].registered["seqtune"]().uuid(), "seqtune-key")
        door.uninstall()
        self.assertEqual(modules["choices"].registered, {})

    def test_inputs_become_problems_and_those_of_other_kinds_do_not(self):
        modules, chooser = self.inductor(registers=False)
        handler = modules["config"].inductor_choices_class()
        look = handler.lookup_template_configs
        self.assertEqual(len(look(stand_ins.Inputs(64, 48, 32), "mm", OFFERED)), 2)
        self.assertEqual(self.predictor.asked[0]["mat2_stride_0"], 48)
        for other in [
            stand_ins.Inputs(64, 48, 32, device_type="cpu"),
            stand_ins.Inputs(64, 48, 32, out="torch.float32"),
            stand_ins.Inputs(64, 48, 32, strides=((9, 9, 1), (9, 9, 1))),
        ]:
            self.assertEqual(look(other, "mm", OFFERED), {})
        self.assertEqual(look(stand_ins.Inputs(64, 48, 32), "mm-ah", OFFERED), {})
        type(handler).table = {"mm": {"triton::mm": [{"BLOCK_M": 1}]}}
        self.assertEqual(look(stand_ins.Inputs(64, 48, 32), "mm", OFFERED), {"triton::mm": [{"BLOCK_M": 1}]})
        self.assertEqual(chooser.asked, 1)

    def test_a_symbol_divides_only_what_is_known(self):
        modules, _ = self.inductor(registers=False)

        class Symbol:
            def __int__(self):
                raise TypeError("a symbol is no number")

        known = SimpleNamespace(statically_known_multiple_of=lambda size, step: step == 16)
        modules["virtualized"].V.graph = SimpleNamespace(sizevars=known)
        self.assertEqual([door._divides(Symbol(), step) for step in (16, 32)], [True, False])
        self.assertEqual([door._divides(96, step) for step in (32, 64)], [True, False])


if __name__ == "__main__":
    unittest.main()
