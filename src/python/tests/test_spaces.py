"""Spaces: counted, walked through, drawn from and asked, all of which agree."""

import itertools
import unittest

import seqtune

TOY = """
name = "toy"
meaning = "a toy"
field = [
    { name = "n", kind = "size", min = 1, max = 1000, shape = true, meaning = "elements" },
    { name = "layout", kind = "choice", labels = ["row", "column"], default = "row", meaning = "order" },
]
parameter = [
    { name = "A", values = [1, 2, 4, 8], default = 2, meaning = "a" },
    { name = "B", values = [1, 2, 4], default = 1, meaning = "b" },
]
constraint = [{ expr = "A * B <= n", reason = "no work-item may be idle" }]
work = { flops = "n", bytes = "8 * n" }
"""


class Spaces(unittest.TestCase):
    def setUp(self):
        self.kernel = seqtune.Kernel.from_toml(TOY)
        self.device = seqtune.Device.from_limits("mine", max_group_items=256)
        self.space = seqtune.Space(self.kernel, {"n": 8}, self.device)

    def test_a_space_agrees_with_trying_every_combination(self):
        legal = [{"A": a, "B": b} for a, b in itertools.product([1, 2, 4, 8], [1, 2, 4]) if a * b <= 8]
        self.assertEqual(self.space.count(), len(legal))
        self.assertEqual(list(self.space), legal)
        self.assertEqual(sorted(map(str, self.space.sample(100))), sorted(map(str, legal)))
        for a, b in itertools.product([1, 2, 4, 8], [1, 2, 4]):
            config = {"A": a, "B": b}
            self.assertEqual(config in self.space, config in legal)
            self.assertEqual(self.space.is_legal(f"A={a},B={b}"), config in legal)
            self.assertEqual(self.space.violation(config) is None, config in legal)
        self.assertEqual(self.space.violation({"A": 8, "B": 4}), "no work-item may be idle (A * B <= n; A=8, B=4)")

    def test_completions_lead_to_legal_configs_only(self):
        self.assertEqual(self.space.completions([]), [1, 2, 4, 8])
        self.assertEqual(self.space.completions([8]), [1])
        self.assertEqual(self.space.completions({"A": 4}), [1, 2])
        for wrong in ([3], {"B": 1}, [1, 1]):
            with self.assertRaises(seqtune.ConfigError):
                self.space.completions(wrong)

    def test_samples_are_the_same_for_the_same_seed(self):
        space = seqtune.Space("gemm", "M=300,N=200,K=100", "H200")
        self.assertEqual(space.sample(5, seed=7), space.sample(5, seed=7))
        self.assertNotEqual(space.sample(5, seed=7), space.sample(5, seed=8))
        self.assertEqual(len({str(config) for config in space.sample(50)}), 50)
        with self.assertRaises(seqtune.InputError):
            space.sample(0)

    def test_a_large_space_is_walked_through_without_listing_it(self):
        space = seqtune.Space("gemm", "M=300,N=200,K=100", "H200")
        first = list(itertools.islice(space, 3))
        self.assertEqual(len({str(config) for config in first}), 3)
        self.assertTrue(all(config in space for config in first))
        self.assertEqual(space.count(), 4_652_796)

    def test_a_space_of_nothing_is_empty(self):
        space = seqtune.Space("gemm", "M=8,N=8,K=8", seqtune.Device.from_limits("none", group_registers=0))
        self.assertEqual((space.count(), list(space), space.sample(3)), (0, [], []))
        self.assertEqual(space.completions([]), [])

    def test_a_kernel_tells_its_parts(self):
        self.assertEqual(self.kernel.parameters, {"A": [1, 2, 4, 8], "B": [1, 2, 4]})
        self.assertEqual(self.kernel.default, {"A": 2, "B": 1})
        self.assertEqual(self.kernel.fields["n"]["max"], 1000)
        self.assertEqual(self.kernel.fields["layout"]["labels"], ["row", "column"])
        self.assertEqual(self.kernel.constraints, [("A * B <= n", "no work-item may be idle")])
        self.assertEqual(self.kernel.problem("n=5"), {"n": 5, "layout": "row"})
        self.assertEqual(self.kernel.config("B=4,A=1"), {"A": 1, "B": 4})
        self.assertEqual(self.kernel.name, "toy")
        self.assertIn("gemm", seqtune.Kernel.list())
        self.assertIn("H100", seqtune.Device.list())

    def test_values_with_labels_are_texts(self):
        labelled = TOY.replace('name = "B", values = [1, 2, 4], default = 1', 'name = "B", labels = ["O2", "O3"], default = "O3"')
        kernel = seqtune.Kernel.from_toml(labelled.replace("A * B <= n", "A <= n or B.O3"))
        space = seqtune.Space(kernel, {"n": 2}, self.device)
        self.assertEqual(kernel.parameters, {"A": [1, 2, 4, 8], "B": ["O2", "O3"]})
        self.assertEqual(kernel.default, {"A": 2, "B": "O3"})
        legal = [{"A": a, "B": b} for a, b in itertools.product([1, 2, 4, 8], ["O2", "O3"]) if a <= 2 or b == "O3"]
        self.assertEqual(list(space), legal)
        self.assertEqual(space.completions({"A": 8}), ["O3"])
        self.assertEqual(space.is_legal("A=8,B=O3"), space.is_legal({"A": 8, "B": "O3"}))
        with self.assertRaisesRegex(seqtune.ConfigError, "B=O1 is not one of O2, O3"):
            space.is_legal({"A": 1, "B": "O1"})

    def test_configs_that_are_none_are_named(self):
        for wrong, words in (
            ({"A": 1}, "parameter `B` is missing"),
            ({"A": 3, "B": 1}, "A=3 is not one of 1, 2, 4, 8"),
            ({"A": 1, "B": 1, "C": 1}, "no parameter `C`"),
            ("A=1,A=1,B=1", "given twice"),
        ):
            with self.assertRaisesRegex(seqtune.ConfigError, words):
                self.space.is_legal(wrong)


if __name__ == "__main__":
    unittest.main()
