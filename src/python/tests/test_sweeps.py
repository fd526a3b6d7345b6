"""Sweeps by a function: a journal that goes on, whatever ended it."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import seqtune
from test_spaces import TOY


def measure(problem, config):
    return [1e-6 * problem["n"] / config["A"], 2e-6]


class Sweeps(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.journal = os.path.join(self.folder.name, "toy.jsonl")
        self.kernel = seqtune.Kernel.from_toml(TOY)
        self.device = seqtune.Device.from_limits("mine", max_group_items=256)

    def sweep(self, measure=measure, problems=({"n": 8}, {"n": 100}), **more):
        more = {"sample": None, "progress": False, **more}
        return seqtune.sweep(self.kernel, measure, problems, device=self.device, journal=self.journal, **more)

    def lines(self):
        with open(self.journal) as file:
            return [json.loads(line) for line in file]

    def test_a_journal_holds_a_header_and_a_record_for_each_legal_config(self):
        done = self.sweep()
        header, *records = self.lines()
        self.assertEqual((header["kernel"], header["device"]["name"], header["seed"]), ("toy", "mine", 1))
        self.assertEqual(len(records), 9 + 12)
        self.assertEqual((done.measured, done.failed, done.found), (21, 0, 0))
        samples = [r["outcome"]["Measured"]["samples_us"] for r in records if r["config"] == "A=8,B=1"]
        self.assertEqual(samples, [[1.0, 2.0], [12.5, 2.0]])
        self.assertEqual(done.best("n=8,layout=row")[2], 1.5)
        self.assertEqual(done.best({"n": 8}), done.best("n=8,layout=row"))
        self.assertRaisesRegex(seqtune.InputError, "no config of .*'n': 9.* works", done.best, {"n": 9})

    def test_what_is_no_function_is_refused_before_anything_is_booked(self):
        self.assertRaisesRegex(seqtune.InputError, "measure is 3", self.sweep, 3)
        self.assertFalse(os.path.exists(self.journal))

    def test_the_default_comes_first_and_a_sample_is_of_its_size(self):
        asked = []
        self.sweep(lambda p, c: asked.append(c) or 1.0, sample=4)
        self.assertEqual(len(asked), 8)
        self.assertEqual(asked[0], self.kernel.default)
        self.assertEqual(len({str(config) for config in asked[:4]}), 4)

    def test_a_sweep_goes_on_after_an_interruption_and_measures_nothing_twice(self):
        asked = []

        def stops(problem, config):
            if len(asked) == 5:
                raise KeyboardInterrupt
            asked.append((problem["n"], str(config)))
            return 1e-3

        with self.assertRaises(KeyboardInterrupt):
            self.sweep(stops)
        self.assertEqual(len(self.lines()), 1 + 5)
        asked.insert(0, None)  # no longer of length 5
        done = self.sweep(lambda p, c: asked.append((p["n"], str(c))) or 1e-3)
        self.assertEqual((done.measured, done.found), (16, 5))
        self.assertEqual(len(set(asked[1:])), 21)

    def test_configs_that_fail_are_booked_with_their_reason(self):
        def fails(problem, config):
            if config["A"] == 4:
                return None
            if config["A"] == 8:
                raise seqtune.Invalid("no registers left", kind="compile")
            if config["B"] == 4:
                raise ValueError("wrong result")
            return 1e-3

        done = self.sweep(fails)
        found = {r["config"]: r["outcome"] for r in self.lines()[1:]}
        self.assertEqual(found["A=8,B=1"]["Invalid"], {"kind": "Compile", "detail": "no registers left"})
        self.assertEqual(found["A=1,B=4"]["Invalid"], {"kind": "Runtime", "detail": "ValueError: wrong result"})
        self.assertIn("Measured", found["A=1,B=1"])
        self.assertEqual(done.measured + done.failed, 21)

    def test_a_function_that_never_works_ends_the_sweep_and_books_nothing(self):
        with self.assertRaisesRegex(seqtune.InputError, "NameError.*no record was written") as caught:
            self.sweep(lambda p, c: no_such_name)  # noqa: F821
        self.assertIsInstance(caught.exception.__cause__, NameError)
        self.assertEqual(len(self.lines()), 1)
        self.assertEqual(self.sweep().measured, 21)

    def test_a_forgotten_return_and_arguments_of_other_kinds_are_told_and_nothing_is_booked(self):
        with self.assertRaisesRegex(seqtune.InputError, "first 20 configs.*measure returned None .a `return` may be missing"):
            self.sweep(lambda p, c: None)
        self.assertEqual(len(self.lines()), 1)
        for more in ({"sample": "all"}, {"sample": True}, {"seed": "a"}):
            with self.assertRaisesRegex(seqtune.InputError, "whole number"):
                self.sweep(lambda p, c: 1.0, **more)
        with self.assertRaisesRegex(seqtune.InputError, "no problem is given"):
            seqtune.sweep(self.kernel, lambda p, c: 1.0, [], journal=self.journal)
        with self.assertRaisesRegex(seqtune.InputError, "returned True: it returns seconds"):
            self.sweep(lambda p, c: True)
        with self.assertRaisesRegex(seqtune.InputError, "at most 2592000"):
            self.sweep(lambda p, c: float("inf"))
        with self.assertRaisesRegex(seqtune.InputError, "is a path"):
            seqtune.Kernel.from_toml("mine/kernel.toml")
        self.assertEqual(self.sweep().measured, 21)

    def test_a_function_that_never_works_is_told_so_also_of_few_configs(self):
        with self.assertRaisesRegex(seqtune.InputError, "failed for all 2 configs.*KeyError.*no record was written"):
            seqtune.sweep(self.kernel, lambda p, c: p["size"], ["n=1000"], journal=self.journal, sample=2)
        self.assertEqual(len(self.lines()), 1)
        self.assertEqual(seqtune.sweep(self.kernel, lambda p, c: 1e-3, ["n=1000"], journal=self.journal, sample=2).measured, 2)

    def test_the_processors_of_this_machine_are_a_device(self):
        host = seqtune.Device("host")
        self.assertEqual((host.limits["is_cpu"], host.limits["compute_units"] >= 1), (1.0, True))

    def test_values_that_are_no_times_are_refused(self):
        for wrong in (0.0, -1.0, float("nan"), [], "fast", {"time": 1}):
            with self.assertRaises(seqtune.InputError):
                self.sweep(lambda p, c: wrong)

    def test_another_sweeps_journal_is_left_alone(self):
        self.sweep()
        before = self.lines()
        with self.assertRaisesRegex(seqtune.InputError, "was begun with seed 1, not 2"):
            self.sweep(seed=2)
        self.assertEqual(self.lines(), before)

    def test_a_sweep_that_was_killed_loses_nothing(self):
        program = f"""
import os, seqtune
def measure(problem, config):
    measure.calls = getattr(measure, "calls", 0) + 1
    if measure.calls > 7:
        os._exit(9)
    return 1e-3
seqtune.sweep(seqtune.Kernel.from_toml({TOY!r}), measure, [{{"n": 8}}, {{"n": 100}}], sample=None, progress=False,
              device=seqtune.Device.from_limits("mine", max_group_items=256), journal={self.journal!r})
"""
        self.assertEqual(subprocess.run([sys.executable, "-c", program]).returncode, 9)
        self.assertEqual(self.sweep().found, 7)


if __name__ == "__main__":
    unittest.main()
