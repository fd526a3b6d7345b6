"""Certified rows: what is measured as pairs, what is certified, and the file."""

import json
import os
import tempfile
import unittest

import seqtune

PROBLEMS = ["M=512,N=512,K=512", "M=64,N=64,K=64"]


class Certified(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "rows.json")
        self.predictor = seqtune.Predictor(seqtune.shipped("gemm-cpu"), device="epyc")
        self.default = self.predictor.kernel.default
        self.asked = []

    def certify(self, ratio, **more):
        """By a function after which a predicted config takes `ratio(repetition)` times as long as the default."""

        def measure(problem, config):
            self.asked.append(config)
            if config == self.default:
                return [1e-3, 2e-3, 1e-3]
            return 1e-3 * ratio(sum(other != self.default for other in self.asked))

        more = {"path": self.path, "progress": False, **more}
        return seqtune.certify(self.predictor, measure, more.pop("problems", PROBLEMS), **more)

    def test_a_config_that_is_faster_every_time_is_certified_with_its_evidence(self):
        done = self.certify(lambda turn: 0.8 + 0.01 * (turn % 3))
        self.assertEqual((done.certified, len(done.rows)), (2, 2))
        row = done.rows[0]
        self.assertEqual((row["config"], row["n"]), (row["predicted"], 8))
        low, high = row["interval"]
        self.assertTrue(-0.21 < low < row["difference"] < high < -0.18)
        # both are first equally often
        firsts = [config == self.default for config in self.asked[:16:2]]
        self.assertEqual(firsts, [False, True] * 4)

    def test_a_config_that_is_slower_unsure_or_broken_leaves_the_default(self):
        def broken(turn):
            raise ValueError("too many registers")

        for at, (ratio, count) in enumerate([(lambda turn: 1.2, 8), (lambda turn: 0.7 if turn % 2 else 1.3, 8), (broken, 0)]):
            path = f"{self.path}-{at}"
            row = self.certify(ratio, path=path).rows[0]
            self.assertEqual((row["certified"], row["config"], row["n"]), (False, row["default"], count))

    def test_the_file_is_that_of_validate_and_no_other_file_is_lost(self):
        self.certify(lambda turn: 0.8)
        with open(self.path) as file:
            whole = json.load(file)
        self.assertEqual(list(whole), ["certified_by", "kernel", "device", "model", "date", "rows"])
        self.assertEqual((whole["kernel"], whole["device"], whole["model"]), ("gemm", self.predictor.device.name, self.predictor.model.digest))
        with self.assertRaisesRegex(seqtune.InputError, "overwrite=True"):
            self.certify(lambda turn: 0.8)
        self.certify(lambda turn: 0.8, overwrite=True)
        note = self.path + ".txt"
        with open(note, "w") as file:
            file.write("mine")
        with self.assertRaisesRegex(seqtune.InputError, "no file of certified rows"):
            self.certify(lambda turn: 0.8, path=note, overwrite=True)

    def test_wrong_words_are_refused_before_anything_is_measured(self):
        for more, said in [
            ({"path": "/nowhere/rows.json"}, "folder does not exist"),
            ({"against": "MWG=7"}, "MWG"),
            ({"problems": []}, "no problem is given"),
        ]:
            with self.assertRaisesRegex(seqtune.Error, said):
                self.certify(lambda turn: 0.8, **more)
        with self.assertRaisesRegex(seqtune.InputError, "is a function"):
            seqtune.certify(self.predictor, 3, PROBLEMS, path=self.path)
        with self.assertRaisesRegex(seqtune.InputError, "seconds are above 0"):
            self.certify(lambda turn: -1.0)
        self.assertFalse(os.path.exists(self.path))


if __name__ == "__main__":
    unittest.main()
