"""Helion's backend, on a stand-in; scripts/integrations/helion.sh meets Helion itself."""

import math
import sys
import unittest
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).parent))
import stand_ins  # noqa: E402

import seqtune  # noqa: E402
import seqtune.helion as door  # noqa: E402

CONFIGS = [{"block_sizes": [16]}, {"block_sizes": [64]}, {"block_sizes": [128]}]


def times(m, n):
    """Small tiles for little work, the greatest where both sizes are great, and one that fails for little."""
    return [1 + m * n / 1e4, 2 + m * n / 4e4, 4.0 if m * n > 1e5 else math.inf]


SIZES = [(m, n) for m in (16, 64, 256, 1024) for n in (16, 64, 256, 1024)]


class Backend(unittest.TestCase):
    def written(self, rows, names=("m", "n")):
        modules = stand_ins.helion()
        with stand_ins.installed(modules):
            door.register()
            backend = modules[-1].backends["seqtune"]()
            features = [{"m": m, "n": n, "text": "x"} for m, n in SIZES]
            data = SimpleNamespace(shape_features=features, timings=rows, selected_config_indices=[0, 1, 2])
            return backend.generate_heuristic("mykernel", data, CONFIGS, list(names))

    def test_the_written_function_chooses_what_loses_little_and_asks_for_products(self):
        result = self.written([times(m, n) for m, n in SIZES])
        self.assertIn("_m * _n <=", result.generated_code)
        self.assertEqual((result.feature_names, result.model_accuracy > 0.9), (["m", "n"], True))
        scope = {}
        torch = stand_ins.module("torch")
        with stand_ins.installed([torch]):
            exec(result.generated_code, scope)
        for m, n in [*SIZES, (100, 100), (700, 500), (33, 1000)]:
            place = scope["key_mykernel"](m, 1, n)
            self.assertEqual(scope["autotune_mykernel"](m, 1, n), CONFIGS[place])
            self.assertLess(times(m, n)[place] / min(times(m, n)), 1.3, (m, n))

    def test_one_config_or_no_feature_makes_a_leaf(self):
        same = self.written([[1.0, 2.0, 3.0]] * len(SIZES))
        self.assertIn("    return 0\n", same.generated_code)
        self.assertIn("# nothing is needed", same.generated_code)
        self.assertIn("return 2", self.written([[3.0, 2.0, 1.0]] * len(SIZES), names=()).generated_code)
        with self.assertRaisesRegex(seqtune.InputError, "mykernel: no config works"):
            self.written([[math.inf] * 3] * len(SIZES))

    def test_shapes_between_are_of_the_same_types_and_within(self):
        shapes = [{"m": 16, "dtype_size": 2}, {"m": 4096, "dtype_size": 4}]
        found = door.between(["m", "dtype_size"], shapes, 50)
        self.assertTrue(all(8 <= shape["m"] <= 4096 and shape["dtype_size"] in (2, 4) for shape in found))
        self.assertGreater(len({shape["m"] for shape in found}), 20)

    def test_the_space_of_a_heuristic_is_a_kernel(self):
        text = door.toml_of(["arg0_dim0", "scale"], [{"arg0_dim0": 7, "scale": 0.5}], 3)
        kernel = seqtune.Kernel.from_toml(text)
        self.assertEqual(kernel.parameters, {"config": [0, 1, 2]})
        self.assertEqual([field["kind"] for field in kernel.fields.values()], ["size", "real"])

    def test_a_missing_or_failing_program_gets_a_sentence(self):
        with self.assertRaisesRegex(seqtune.UnavailableError, "/nowhere: No such file"):
            door._run(["/nowhere", "train"], "k")
        with self.assertRaisesRegex(seqtune.FailedError, "k: it is broken"):
            door._run([sys.executable, "-c", "import sys; sys.exit('it is broken')"], "k")


if __name__ == "__main__":
    unittest.main()
