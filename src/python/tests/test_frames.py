"""NumPy's arrays and pandas' frames, in and out."""

import unittest

import seqtune

try:
    import numpy
    import pandas
except ImportError as error:
    raise unittest.SkipTest(f"{error.name} is not installed") from None


class Frames(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.predictor = seqtune.Predictor(seqtune.shipped(), device="epyc")
        cls.problems = ["M=300,N=200,K=100", "M=64,N=64,K=64,transB=T"]
        cls.want = cls.predictor.predict(cls.problems, top=2)

    def test_arrays_of_every_form_are_the_same_problems(self):
        columns = {
            "M": numpy.array([300, 64], dtype=numpy.int32),
            "N": numpy.array([200.0, 64.0]),
            "K": [100, 64],
            "transB": numpy.array(["N", "T"]),
        }
        self.assertEqual(self.predictor.predict(columns, top=2), self.want)
        self.assertEqual(self.predictor.predict(pandas.DataFrame(columns), top=2), self.want)
        rows = numpy.array([(300, 200, 100, "N"), (64, 64, 64, "T")], dtype=[("M", "i4"), ("N", "i8"), ("K", "u2"), ("transB", "U1")])
        self.assertEqual(self.predictor.predict(rows, top=2), self.want)
        sizes = numpy.array([[300, 200, 100]])
        self.assertEqual(self.predictor.predict(sizes, top=2), self.want[:1])
        self.assertEqual(self.predictor.predict(numpy.array(self.problems), top=2), self.want)
        self.assertEqual(self.predictor.predict({"M": numpy.int64(300), "N": 200, "K": numpy.float32(100)}, top=2), self.want[0])

    def test_arrays_of_a_wrong_form_are_refused(self):
        with self.assertRaisesRegex(seqtune.InputError, "9 columns, and kernel gemm 8 fields"):
            self.predictor.predict(numpy.ones((2, 9)))
        with self.assertRaisesRegex(seqtune.InputError, "a row for each problem"):
            self.predictor.predict(numpy.ones(3))

    def test_a_frame_is_answered_with_a_frame_of_the_same_index(self):
        frame = pandas.DataFrame({"M": [300, 64], "N": [200, 64], "K": [100, 64], "transB": ["N", "T"]}, index=["a", "b"])
        frame.index.name = "layer"
        answer = self.predictor.predict_frame(frame, top=2)
        self.assertEqual(list(answer.index), ["a", "a", "b", "b"])
        self.assertEqual(answer.index.name, "layer")
        self.assertEqual(list(answer["rank"]), [1, 2, 1, 2])
        self.assertEqual(answer["MWG"].iloc[2], self.want[1][0].config["MWG"])
        self.assertTrue(answer["joules"].isna().all() and (answer["time_us"] > 0).all())
        self.assertEqual(list(frame.join(self.predictor.predict_frame(frame))["rank"]), [1, 1])


if __name__ == "__main__":
    unittest.main()
