"""What comes from outside: numbers of any size, values of any class, exceptions of one's own, and files of others."""

import os
import pickle
import tempfile
import unittest

import seqtune
from seqtune import errors
from seqtune.kernel_tuner import describe
from test_spaces import TOY

PROBLEM = "M=64,N=64,K=64"
HUGE = 10**30
#: Python writes no number of so many digits.
UNSAID = 10**5000


class Unsayable:
    def __repr__(self):
        raise KeyError("no text")

    __str__ = __repr__


class Outside(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.model = seqtune.shipped("gemm-cpu")

    def refused(self, call, *given, **named):
        """An error of the package, in one line that can be read."""
        with self.assertRaises(seqtune.Error) as caught:
            call(*given, **named)
        said = str(caught.exception)
        self.assertTrue(0 < len(said) <= errors.SENTENCE and said.isprintable(), said)
        self.assertIsInstance(caught.exception, ValueError)
        return said

    def test_numbers_of_any_size_are_refused_where_they_are_out_of_range(self):
        predictor = seqtune.Predictor(self.model, device="epyc")
        space = seqtune.Space("gemm", PROBLEM, "H200")
        for count in (-1, 0, HUGE, -HUGE, UNSAID):
            for name in ("top", "width", "threads"):
                self.assertIn(f"{name}=", self.refused(predictor.predict, PROBLEM, **{name: count}))
            self.refused(seqtune.Chooser, self.model, device="epyc", top=count)
            self.refused(space.sample, count)
        for seed in (-1, 1 << 64, HUGE, UNSAID):
            self.assertIn("seed=", self.refused(space.sample, 3, seed=seed))
        for share in (float("nan"), float("inf"), HUGE, UNSAID, -UNSAID):
            self.refused(predictor.cover, PROBLEM, share=share)
        for config in ({"MWG": HUGE}, {"MWG": UNSAID}, {**seqtune.Kernel("gemm").default, "MWG": UNSAID}, {"MWG": Unsayable()}):
            self.refused(space.violation, config)
        for value in (HUGE, UNSAID, float("nan"), Unsayable(), "9" * 5000, "\x1b[2J", "\ud800"):
            self.refused(predictor.predict, {"M": value, "N": 64, "K": 64})

    def test_a_limit_is_a_number_and_what_is_not_known_is_left_out(self):
        for value in (float("nan"), float("inf"), -float("inf"), UNSAID, -1.0):
            self.refused(seqtune.Device.from_limits, "d", local_memory=value)
        for name in ("", "\x1b[2J", "a\u202eb", "x" * 5000, "\ud800"):
            self.refused(seqtune.Device.from_limits, name, local_memory=1.0)
        self.assertEqual(seqtune.Device.from_limits("d", local_memory=1).limits, {"local_memory": 1.0})

    def test_times_and_goals_are_numbers_above_0(self):
        chooser = seqtune.Chooser(self.model, device="epyc")
        pick = chooser.pick(PROBLEM)
        for wrong in (float("nan"), float("inf"), 0, -1, UNSAID):
            self.refused(chooser.report, pick, wrong)
            self.refused(chooser.report, pick, 1.0, wrong)
            self.refused(chooser.set_goal, time_us=wrong)
            self.refused(seqtune.Chooser, self.model, device="epyc", setup_us=wrong if wrong else -1.0)
        self.refused(chooser.set_goal, "\x1b[2J")

    def sweep(self, measure, **more):
        journal = os.path.join(self.folder.name, "s.jsonl")
        kernel, device = seqtune.Kernel.from_toml(TOY), seqtune.Device.from_limits("mine", max_group_items=256)
        more = {"sample": 3, "progress": False, "journal": journal, **more}
        return seqtune.sweep(kernel, measure, [{"n": 8}], device=device, **more)

    def test_what_a_function_returns_or_raises_is_told_in_a_line_with_its_cause(self):
        class Wrong:
            def __float__(self):
                raise ZeroDivisionError("of my own")

        for wrong in ("9" * 5000, UNSAID, Wrong(), Unsayable(), float("nan"), float("inf"), -1, [], range(10**12), "\x1b[2J"):
            self.refused(self.sweep, lambda p, c, wrong=wrong: wrong)
        with self.assertRaises(seqtune.InputError) as caught:
            self.sweep(lambda p, c: Wrong())
        self.assertIsInstance(caught.exception.__cause__, ZeroDivisionError)
        self.refused(self.sweep, "9" * 5000)
        for seed in (-1, 1 << 64, UNSAID):
            self.refused(self.sweep, lambda p, c: 1.0, seed=seed)
        for sample in (-1, 0, HUGE, UNSAID):
            self.refused(self.sweep, lambda p, c: 1.0, sample=sample)

        class Mine(Exception):
            def __str__(self):
                raise KeyError("no text")

        def raises(problem, config):
            raise Mine("\x1b[2J" + "x" * 10_000)

        self.refused(self.sweep, raises)
        asked = []
        done = self.sweep(lambda p, c: asked.append(c) or (1.0 if len(asked) == 1 else raises(p, c)))
        self.assertEqual((done.measured, done.failed), (1, 2))
        # what ends a program ends the sweep
        with self.assertRaises(SystemExit):
            self.sweep(lambda p, c: exec("raise SystemExit(3)"), journal=os.path.join(self.folder.name, "t.jsonl"))

    def test_columns_that_claim_more_rows_than_memory_holds_are_refused(self):
        predictor = seqtune.Predictor(self.model, device="epyc")
        self.refused(predictor.predict, {"M": range(10**12), "N": 64, "K": 64})

    def test_an_error_is_one_line_of_a_size_and_survives_pickling(self):
        for kind in (seqtune.InputError, seqtune.FileError, seqtune.FailedError):
            error = kind("a\x1b[2J\u202e\n" + "x" * 5000)
            again = pickle.loads(pickle.dumps(error))
            for one in (error, again):
                self.assertTrue(str(one).isprintable() and len(str(one)) <= errors.SENTENCE)
            self.assertEqual(str(error), str(again))
        self.assertEqual(str(seqtune.InputError("C:\\new")), "C:\\new")

    def test_describe_replaces_what_it_wrote_and_nothing_else(self):
        folder = os.path.join(self.folder.name, "k")
        values, size = {"block_size_x": [32, 64]}, 1000
        describe(folder, values, None, size, device="a new device")
        describe(folder, values, None, size, device="a new device")
        other = {"block_size_x": [32, 64, 128]}
        self.refused(describe, folder, other, None, size)
        describe(folder, other, None, size, replace=True)
        for name in ("kernel.toml", "device.toml"):
            place = os.path.join(folder, name)
            os.remove(place)
            with open(os.path.join(self.folder.name, "note"), "w") as file:
                file.write("remember the milk")
            os.symlink(os.path.join(self.folder.name, "note"), place)
            self.refused(describe, folder, values, None, size, device="a new device", replace=True)
            with open(place) as file:
                self.assertEqual(file.read(), "remember the milk")
            os.remove(place)
            describe(folder, values, None, size, device="a new device", replace=True)


if __name__ == "__main__":
    unittest.main()
