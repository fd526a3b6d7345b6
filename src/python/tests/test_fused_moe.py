"""The program that measures vLLM's fused MoE product: what it reads, and the journal that it writes. A stand-in takes vLLM's and the GPU's place."""

import contextlib
import importlib.util
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

import seqtune

PROGRAM = Path(__file__).parents[3] / "kernels/triton/fused_moe/measure.py"
LOG = """INFO 12-01 server started
WARNING [fused_moe.py] Using default MoE config. Config file not found at /srv/E=8,N=1344,device_name=NVIDIA_H200,dtype=fp8_w8a8,block_shape=[128,128].json
WARNING [fused_moe.py] Using default MoE config. Config file not found at /srv/E=8,N=1344,device_name=NVIDIA_H200,dtype=fp8_w8a8,block_shape=[128,128].json
E=8,N=64,dtype=int4_w4a16
"""


class StandIn:
    """Times that grow with the tile, and a config that does not fit."""

    asked: list[tuple[dict, dict]] = []

    def __init__(self, hidden, topk, seed):
        self.asked.clear()

    def device(self):
        return "H200"

    def measure(self, problem, config):
        self.asked.append((problem, config))
        if config["BLOCK_SIZE_M"] == 256:
            raise seqtune.Invalid("out of resource: shared memory", kind="compile")
        return [1e-6 * config["BLOCK_SIZE_M"] * problem["M"]] * 3


class FusedMoe(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        spec = importlib.util.spec_from_file_location("measure_moe", PROGRAM)
        cls.program = importlib.util.module_from_spec(spec)
        sys.modules["measure_moe"] = cls.program
        spec.loader.exec_module(cls.program)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "log").write_text(LOG)

    def run_with(self, *more, log="log"):
        """What the program prints, and what it tells."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            words = [str(self.folder / log), "-o", str(self.folder / "moe.jsonl"), "--hidden", "512", "--topk", "2", *more]
            self.program.main(words, StandIn)
        return out.getvalue(), err.getvalue()

    def test_each_shape_of_a_log_is_measured_once_and_a_second_call_measures_nothing(self):
        out, err = self.run_with("--rows", "1,64", "--sample", "12")
        self.assertIn("1 lines are left out: dtype=int4_w4a16 is not measured here", err)
        problems = {(p["E"], p["N"], p["M"], p["dtype"], p["block_n"]) for p, _ in StandIn.asked}
        self.assertEqual(problems, {(8, 1344, 1, "fp8_w8a8", 128), (8, 1344, 64, "fp8_w8a8", 128)})
        self.assertTrue(out.endswith(f"24 records, {24 - out_of(out)} measured now, {out_of(out)} failed now\n"), out)
        lines = [json.loads(line) for line in (self.folder / "moe.jsonl").read_text().splitlines()]
        self.assertEqual(len(lines), 25)
        self.assertTrue(all(config["BLOCK_SIZE_K"] <= 128 for _, config in StandIn.asked))
        self.assertIn("24 records, 0 measured now, 0 failed now", self.run_with("--rows", "1,64", "--sample", "12")[0])

    def test_wrong_words_are_answered_with_a_sentence_before_anything_is_measured(self):
        (self.folder / "none").write_text("nothing here\n")
        for more, log, sentence in [
            ([], "none", "names no shape, such as E=24"),
            ([], "absent", "No such file"),
            (["--topk", "9"], "log", "--topk 9 of 8 experts"),
            (["--rows", "0"], "log", "count from 1"),
            (["--device", "RTX 9090"], "log", "RTX 9090"),
        ]:
            with self.assertRaises(SystemExit) as caught:
                self.run_with(*more, log=log)
            self.assertIn(sentence, str(caught.exception))
        self.assertFalse((self.folder / "moe.jsonl").exists())


def out_of(out):
    """The number of configs that failed."""
    return int(out.split(" failed now")[0].rsplit(" ", 1)[1])


if __name__ == "__main__":
    unittest.main()
