"""Choices at run time: they settle, follow limits, are remembered, and say what is wrong."""

import pathlib
import tempfile
import threading
import unittest
import warnings

import seqtune

PROBLEM = "M=300,N=200,K=100"


def call(chooser, count, time_of):
    """Calls with times of a config's making; the configs."""
    chosen = []
    for at in range(count):
        pick = chooser.pick(PROBLEM)
        chooser.report(pick, time_of(pick.config) * (1.01 if at % 2 else 0.99))
        chosen.append(pick.config)
    return chosen


class Choosing(unittest.TestCase):
    def setUp(self):
        self.model = seqtune.shipped("gemm-cpu")

    def second(self):
        """The config that is predicted to be the second."""
        return seqtune.Predictor(self.model, device="epyc").predict(PROBLEM, top=2)[1].config

    def test_a_problem_begins_with_the_prediction_and_settles_on_what_is_faster(self):
        second = self.second()
        chooser = seqtune.Chooser(self.model, device="epyc", top=3)
        self.assertIsNone(chooser.standing(PROBLEM))
        chosen = call(chooser, 80, lambda config: 100 if config == second else 200)
        self.assertEqual(chosen[0], seqtune.Predictor(self.model, device="epyc").predict(PROBLEM, top=1)[0].config)
        self.assertEqual(chosen[-1], second)
        self.assertEqual(chooser.settled({"M": 300, "N": 200, "K": 100}), second)
        standing = chooser.standing(PROBLEM)
        self.assertEqual((standing.settled, standing.calls, len(standing.configs)), (1, 80, 3))
        self.assertAlmostEqual(standing.configs[1].time_us, 100, delta=5)

    def test_a_limit_is_followed_and_failed_configs_are_left(self):
        chooser = seqtune.Chooser(self.model, device="epyc", top=2)
        second = self.second()
        for at in range(60):
            pick = chooser.pick(PROBLEM)
            is_second = pick.config == second
            chooser.report(pick, 150 if is_second else 100, joules=1e-3 if is_second else 9e-3)
        self.assertNotEqual(chooser.pick(PROBLEM).config, second)
        chooser.set_goal("energy", within_time=0.2)
        self.assertNotEqual(chooser.pick(PROBLEM).config, second)
        chooser.set_goal("energy", within_time=0.9)
        self.assertEqual(chooser.pick(PROBLEM).config, second)
        with self.assertRaisesRegex(seqtune.InputError, "within_time is -1"):
            chooser.set_goal("energy", within_time=-1.0)
        chooser.set_goal(power_w=20)
        self.assertEqual(chooser.pick(PROBLEM).config, second)
        chooser.failed(chooser.pick(PROBLEM))
        self.assertNotEqual(chooser.pick(PROBLEM).config, second)
        chooser.failed(chooser.pick(PROBLEM))
        with self.assertRaises(seqtune.NoLegalConfigError):
            chooser.pick(PROBLEM)

    def test_choices_are_remembered_in_a_file_and_damage_is_warned_of(self):
        second = self.second()
        with tempfile.TemporaryDirectory() as folder:
            memory = pathlib.Path(folder) / "choices.json"
            with seqtune.Chooser(self.model, device="epyc", top=3, memory=memory) as chooser:
                call(chooser, 80, lambda config: 100 if config == second else 200)
            again = seqtune.Chooser(self.model, device="epyc", top=3, memory=memory)
            self.assertEqual((again.pick(PROBLEM).config, again.pick(PROBLEM).settled), (second, True))
            memory.write_text("{")
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                seqtune.Chooser(self.model, device="epyc", memory=memory)
            self.assertIn("choices start afresh", str(caught[0].message))

    def test_threads_share_a_chooser(self):
        chooser = seqtune.Chooser(self.model, device="epyc", top=3)
        threads = [threading.Thread(target=call, args=(chooser, 50, lambda _: 100)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertIsNotNone(chooser.settled(PROBLEM))

    def test_what_is_wrong_is_said(self):
        chooser = seqtune.Chooser(self.model, device="epyc")
        pick = chooser.pick(PROBLEM)
        for wrong in (0, -1, float("nan")):
            with self.assertRaises(seqtune.InputError):
                chooser.report(pick, wrong)
        with self.assertRaises(seqtune.ProblemError):
            chooser.pick("M=1")
        with self.assertRaises(seqtune.InputError):
            chooser.set_goal("beauty")
        with self.assertRaises(seqtune.InputError):
            seqtune.Chooser(self.model, device="epyc", top=0)
        self.assertIn("settled=False", repr(pick))


if __name__ == "__main__":
    unittest.main()
