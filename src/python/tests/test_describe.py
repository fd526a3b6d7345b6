"""A kernel.toml of Kernel Tuner's caches and restrictions: without Kernel Tuner itself."""

import bz2
import gzip
import json
import lzma
import os
import subprocess
import sys
import tempfile
import unittest

import seqtune
from seqtune.kernel_tuner import describe, describe_caches, translated
from seqtune.kernel_tuner.caches import read
from seqtune.kernel_tuner.restrictions import Untranslatable

VALUES = {"a": [1, 2, 3, 4, 6, 8], "b": [1, 2, 4], "t": [False, True], "l": ["row", "col"]}
STEP = 3

CACHE = {
    "device_name": "my GPU",
    "kernel_name": "vec",
    "problem_size": 4096,
    "tune_params_keys": ["wg", "layout", "cached"],
    "tune_params": {"wg": [32, 64.0], "layout": ["row", "col"], "cached": [True, False]},
    "objective": "time",
    "cache": {
        "32,row,True": {"wg": 32, "layout": "row", "cached": True, "time": 0.5},
        "64,col,False": {"wg": 64, "layout": "col", "cached": False, "time": 0.25},
    },
}


def space(kernel):
    device = seqtune.Device.from_limits("any", max_group_items=1024)
    return seqtune.Space(kernel, {name: 4096 for name in kernel.fields}, device)


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda name: os.path.join(folder.name, name)

    def cache(self, name, **changes):
        with open(self.path(name), "w") as file:
            json.dump({key: value for key, value in {**CACHE, **changes}.items() if value is not None}, file)
        return self.path(name)


class Restrictions(Folder):
    def kept(self, restriction):
        """What is left of a restriction, and the configs that are legal by it."""
        done = describe(self.path("k"), VALUES, [restriction], 100, replace=True)
        return done, {tuple(config.values()) for config in space(done.kernel)}

    def test_what_python_takes_for_true_is_legal_and_nothing_else(self):
        every = [(a, b, t, layout) for a in VALUES["a"] for b in VALUES["b"] for t in (0, 1) for layout in VALUES["l"]]
        texts = ["a % 2", "a and b > 1", "not a % 4 or t", "(a / 4) % 2 == 0", "a / 4 // 1 == 1", "1 <= a * b < 9", "a != b != 1",
                 "l == 'row' or a > 2", "l in ('row', 'col') and a % 3", "'col' != l", "l not in ['row']", "(a > 2) & (b < 4) | t", "(a or b) == a",
                 "(a and t) == 0", "a - 1 if t else b - 1", "-a % 4 == 0", "(a - b) % 4 > 1", "min(a, b, 3) != 2", "abs(a - b) < 2",
                 "a in [1, 2, b]", "bool(a % 2)", "not (t and a > 2)", "0.5 * a == b", "a // 0.5 > 4", "t", "a ** 2 > 8", "(t == True) + (a > 2) == 1"]  # fmt: skip
        for text in texts:
            expected = {config for config in every if eval(text, {}, dict(zip(VALUES, config)))}
            done, legal = self.kept(text)
            self.assertEqual((done.unread, legal), ([], expected), f"{text}: {done.constraints}")
        self.assertEqual(translated("block_size % 64", ["block_size"]), "block_size % 64 != 0")

    def test_what_cannot_be_said_exactly_stays_a_check(self):
        for text in ("a & (a - 1) == 0", "a.bit_length() > 1", "t is True", "l < 'row'", "l", "l != 'diagonal'", "a in range(3)", "[a]",
                     "9" * 400 + " > a"):  # fmt: skip
            done = describe(self.path("k"), VALUES, [text], 100, replace=True)
            self.assertEqual((done.constraints, len(done.unread)), ([], 1), text)
        with self.assertRaises(Untranslatable):
            translated("c > 1", ["a"])

    def test_what_is_no_restriction_at_all_is_refused(self):
        for text in ("undefined > 1", "f(a)", "", "a >", "(" * 5000, "p['a'] > 1", "a * < 3"):
            with self.assertRaisesRegex(seqtune.InputError, "^restriction `"):
                describe(self.path("k"), VALUES, [text], 100, replace=True)

    def test_a_restriction_that_leaves_nothing_is_refused_and_a_function_is_named_by_its_line(self):
        for never in ("a < 0", "l == 'diagonal'", "l < 3", "a % 0 == 0", lambda p: p["nope"] < 3, lambda misspelt: misspelt > 1):
            with self.assertRaisesRegex(seqtune.InputError, "is true for no combination of tune_params"):
                describe(self.path("k"), VALUES, [never], 100, replace=True)
        with self.assertRaisesRegex(seqtune.InputError, "restriction 3 is neither an expression nor a function"):
            describe(self.path("k"), VALUES, [3], 100, replace=True)
        done = describe(self.path("k"), VALUES, [lambda *p: True], 100, replace=True)
        self.assertRegex(done.unread[0], r"^<lambda> in test_describe.py, line \d+ \(")

    def test_of_several_lambdas_on_a_line_each_becomes_its_own(self):
        two = [lambda p: p["a"] > 2, lambda p: p["b"] < 4]; three = [lambda p: p["a"] % STEP == 0, lambda a, t: a and t]  # noqa: E702 # fmt: skip
        more = [(lambda n: (lambda p: p["a"] > n))(4), lambda q: q.get("l") == "row"]
        done = describe(self.path("k"), VALUES, two + three + more, 100)
        self.assertEqual(done.unread, [])
        self.assertEqual(done.constraints, ["a > 2", "b < 4", "a % 3 == 0", "a != 0 and t", "a > 4", "l.row"])
        other = {"a": 3}
        done = describe(self.path("k"), VALUES, [lambda p: other["a"] > p["b"], lambda *p: True, max], 100, replace=True)
        self.assertEqual((done.constraints, len(done.unread)), ([], 3))
        done = describe(self.path("k"), VALUES, "lambda p: p['a'] % 4", 100, replace=True)
        self.assertEqual(done.constraints, ["a % 4 != 0"])


class Caches(Folder):
    def test_names_become_labels_and_truth_values_numbers(self):
        done = describe_caches(self.path("k"), [self.cache("c.json")], ["layout == 'row' or cached"])
        self.assertEqual(done.kernel.parameters["wg"], [32, 64])
        self.assertEqual(done.kernel.parameters["cached"], [0, 1])
        self.assertEqual(done.constraints, ["layout.row or cached"])
        self.assertEqual({config["layout"] for config in space(done.kernel)}, {"row", "col"})
        self.assertEqual(seqtune.Device(done.device).name, "my GPU")
        # a script that writes the values in another order describes the same space, so that its data and models are one
        again = describe(self.path("k"), CACHE["tune_params"], ["layout == 'row' or cached"], 100, name="vec", device="my GPU")
        self.assertEqual(again.kernel.parameters, done.kernel.parameters)

    def test_values_of_configs_count_beside_those_of_the_header_and_a_device_without_a_name_gets_one(self):
        more = {"128,row,True": {"wg": 128, "layout": "row", "cached": True, "time": 0.2}, "x,row,True": {"wg": [1], "layout": "row", "cached": 0.5}}
        done = describe_caches(self.path("k"), [self.cache("c.json", cache={**CACHE["cache"], **more}, device_name="")])
        self.assertEqual((done.kernel.parameters["wg"], done.kernel.parameters["cached"]), ([32, 64, 128], [0, 1]))
        self.assertEqual((seqtune.Device(done.device).name, done.empty), ("unnamed-device", []))
        command = [sys.executable, "-m", "seqtune.kernel_tuner", "describe", "-o", self.path("e"), self.cache("empty.json", cache={})]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertIn("empty.json holds no config yet: nothing can be imported from it", done.stdout, done.stderr)

    def test_compressed_and_interrupted_caches_are_read(self):
        text = json.dumps(CACHE)
        forms = {
            "a.json.gz": gzip.compress(text.encode()),
            "a.json.bz2": bz2.compress(text.encode()),
            "a.json.xz": lzma.compress(text.encode()),
            "mark.json": b"\xef\xbb\xbf" + text.encode(),
            "open.json": text[:-2].encode() + b",\n",
        }
        for name, content in forms.items():
            with open(self.path(name), "wb") as file:
                file.write(content)
            self.assertEqual(read(self.path(name))["cache"], CACHE["cache"], name)
        with open(self.path("cut.json"), "w") as file:
            file.write(text[: text.index("0.25")])
        self.assertEqual(list(read(self.path("cut.json"))["cache"]), ["32,row,True"])

    def test_what_is_wrong_is_told_in_a_sentence_with_status_2(self):
        names = {"tune_params_keys": ["wg"]}
        with self.assertRaisesRegex(seqtune.InputError, "tells the problem_size 4096, which has another number of sizes"):
            describe_caches(self.path("k"), [self.cache("c.json")], problem_size=[512, 512])
        files = [
            ([self.cache("none.json", problem_size=None)], "none.json tells no problem_size: say with --problem-size"),
            ([self.cache("sizes.json", problem_size=["n", 2])], "tells no sizes as whole numbers"),
            ([self.cache("mixed.json", tune_params={**CACHE["tune_params"], "layout": ["row", 1, True, 2.45]})], "'row' and 1: values are all"),
            ([self.cache("half.json", tune_params={**CACHE["tune_params"], "wg": [0.5]})], "has 0.5: values of a kernel.toml are whole"),
            ([self.cache("null.json", tune_params={**CACHE["tune_params"], "wg": [None]})], "has None"),
            ([self.cache("twice.json", tune_params={**CACHE["tune_params"], "wg": [1, True]})], "has 1 twice"),
            ([self.cache("empty.json", tune_params={**CACHE["tune_params"], "wg": []})], "are no lists of values"),
            ([self.cache("other.json", **names)], "are no lists of values"),
            ([self.cache("list.json", tune_params=[1])], "are no lists of values"),
            ([self.cache("number.json", kernel_name=3)], "its kernel_name is no text"),
            ([self.cache("entries.json", cache={"a": 1})], "holds no entries"),
            ([self.cache("a.json"), self.cache("b1.json", device_name="another")], "is of another, .*: describe the caches of one device"),
            ([self.cache("a.json"), self.cache("b2.json", kernel_name="fmul")], "is of another kernel"),
            ([self.cache("a.json"), self.cache("b3.json", problem_size=[1, 2])], "tells 2 sizes of its problem, another file 1"),
            ([self.path("missing.json")], "No such file"),
            ([os.path.dirname(self.path("x"))], "Is a directory"),
        ]
        for name, content in (("bad.gz", b"\x1f\x8b\x08rest"), ("z.zip", b"PK\x03\x04"), ("text.json", b"\xff"), ("half.gz", gzip.compress(b"x" * 9)[:12])):
            with open(self.path(name), "wb") as file:
                file.write(content)
            files.append(([self.path(name)], name))
        for caches, words in files:
            with self.assertRaisesRegex((seqtune.InputError, seqtune.FileError), words):
                describe_caches(self.path("k"), caches)
            self.assertFalse(os.path.exists(self.path("k")), words)
        command = [sys.executable, "-m", "seqtune.kernel_tuner", "describe", "-o", self.path("k")]
        done = subprocess.run([*command, self.path("none.json")], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr.count("\n"), "Traceback" in done.stderr), (2, 1, False), done.stderr)
        done = subprocess.run([*command, self.path("none.json"), "--problem-size", "512,512"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list(seqtune.Kernel(self.path("k")).fields), ["size_x", "size_y"])


if __name__ == "__main__":
    unittest.main()
