"""Predictions: the same as the command line's, in every form of input, from every thread."""

import multiprocessing
import pathlib
import pickle
import re
import threading
import unittest
import warnings

import seqtune

PROBLEM = "M=300,N=200,K=100"

#: A model that learned energy, which does not ship with the package.
METERED = str(pathlib.Path(__file__).parents[3] / "models/gemm-h200")


class Predictions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.predictor = seqtune.Predictor(seqtune.shipped("gemm-cpu"), device="epyc")

    def test_best_first_with_what_the_model_says(self):
        answer = self.predictor.predict(PROBLEM, top=3)
        self.assertEqual(len(answer), 3)
        best = answer[0]
        self.assertIsInstance(best, seqtune.Prediction)
        self.assertEqual(list(best.config), list(self.predictor.kernel.parameters))
        self.assertEqual(best.text, ",".join(f"{name}={value}" for name, value in best.config.items()))
        self.assertGreater(best.time_us, 0)
        self.assertIsNone(best.joules)
        self.assertTrue(0 < best.probability < 1 and best.log_probability < 0)
        self.assertIs(type(best.unsure), bool)
        self.assertRegex(repr(best), r"^<Prediction \d+\.\d % [\d.]+ us( unsure)?: MWG=\d+,")

    def test_as_few_configs_as_hold_the_best_one(self):
        folder = pathlib.Path(__file__).parents[3] / "models" / "miopen" / "ConvMlirIgemmFwd"
        predictor = seqtune.Predictor(str(folder))
        problem = "direction=F,N=12,C=72,H=30,W=30,K=144,R=3,S=3,pad_h=1,pad_w=1"
        sums = {}
        for share in (0.3, 0.9):
            few = predictor.cover(problem, share)
            sums[share] = [sum(p.probability for p in few[:count]) for count in (len(few) - 1, len(few))]
            self.assertTrue(sums[share][0] < share <= sums[share][1])
            self.assertEqual([p.text for p in few], [p.text for p in predictor.predict(problem, top=len(few))])
        for share in (0, 1, float("nan")):
            self.assertRaisesRegex(seqtune.InputError, "between 0 and 1", predictor.cover, problem, share)
        self.assertRaisesRegex(seqtune.InputError, "a sample of its space", self.predictor.cover, PROBLEM)

    def test_fewest_joules_within_a_share_of_the_best_time(self):
        predictor = seqtune.Predictor(METERED, kernel="gemm", device="H200")
        problem = {"M": 2048, "N": 2048, "K": 2048, "dtype": "f16"}
        [fastest] = predictor.predict(problem, within_time=0.0)
        before = fastest.joules
        for share in (0.02, 0.2, 1.0):
            found = predictor.predict(problem, within_time=share)
            self.assertTrue(all(p.time_us <= (1 + share) * fastest.time_us * (1 + 1e-9) for p in found))
            self.assertTrue(found[0].joules <= min([before, *(p.joules for p in found)]))
            before = found[0].joules
        self.assertEqual(predictor.predict([problem, problem], within_time=0.2, threads=2)[1], predictor.predict(problem, within_time=0.2))

    def test_every_prediction_is_legal(self):
        space = seqtune.Space(self.predictor.kernel, PROBLEM, self.predictor.device)
        for prediction in self.predictor.predict(PROBLEM, top=20):
            self.assertIn(prediction.config, space)
            self.assertIsNone(space.violation(prediction.text))

    def test_a_text_a_dict_and_columns_are_the_same_problem(self):
        want = self.predictor.predict(PROBLEM, top=2)
        fields = {"M": 300, "N": 200, "K": 100}
        self.assertEqual(self.predictor.predict(fields, top=2), want)
        self.assertEqual(self.predictor.predict({**fields, "M": 300.0, "dtype": "f32", "alpha": 1}, top=2), want)
        for many in (
            [PROBLEM],
            [fields],
            (problem for problem in [PROBLEM]),
            {"M": [300], "N": 200, "K": (100,)},
        ):
            self.assertEqual(self.predictor.predict(many, top=2), [want])
        self.assertEqual(self.predictor.predict([]), [])

    def test_answers_do_not_depend_on_company_or_threads(self):
        problems = [f"M={m},N=64,K=48" for m in range(40, 70)]
        together = self.predictor.predict(problems, top=1, threads=2)
        for problem, [best] in list(zip(problems, together))[::7]:
            self.assertEqual(self.predictor.predict(problem, top=1)[0].config, best.config)

    def test_threads_share_a_predictor(self):
        want = self.predictor.predict(PROBLEM, top=2)
        found = []
        workers = [threading.Thread(target=lambda: found.append(self.predictor.predict(PROBLEM, top=2))) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(found, [want] * 4)

    def test_the_interpreter_is_free_meanwhile(self):
        done, seen = threading.Event(), []

        def work():
            self.predictor.predict({"M": list(range(64, 128)), "N": 64, "K": 64})
            done.set()

        worker = threading.Thread(target=work)
        worker.start()
        while not done.wait(0.001):
            seen.append(1)
        worker.join()
        self.assertGreater(len(seen), 5)

    def test_objects_survive_pickling(self):
        kernel = seqtune.Kernel("gemm")
        for thing in (self.predictor.predict(PROBLEM)[0], self.predictor.device):
            again = pickle.loads(pickle.dumps(thing))
            self.assertEqual(again, thing)
        self.assertEqual(hash(pickle.loads(pickle.dumps(self.predictor.predict(PROBLEM)[0]))), hash(self.predictor.predict(PROBLEM)[0]))
        self.assertEqual(pickle.loads(pickle.dumps(kernel)).space_hash, kernel.space_hash)
        self.assertEqual(pickle.loads(pickle.dumps(self.predictor.model)).digest, self.predictor.model.digest)
        again = pickle.loads(pickle.dumps(self.predictor))
        self.assertEqual(again.predict(PROBLEM), self.predictor.predict(PROBLEM))
        space = seqtune.Space("gemm", PROBLEM, "H200")
        self.assertEqual(pickle.loads(pickle.dumps(space)).count(), space.count())

    def test_a_forked_process_opens_models_and_predicts_as_its_parent_did(self):
        whole = seqtune.Predictor(seqtune.shipped("gemm-cpu", quality="best"), device="epyc")
        want = [predictor.predict(PROBLEM, top=2, threads=2) for predictor in (self.predictor, whole)]
        context = multiprocessing.get_context("fork")
        answers, put = context.Pipe(duplex=False)

        def child():
            put.send([pickle.loads(pickle.dumps(predictor)).predict(PROBLEM, top=2, threads=2) for predictor in (self.predictor, whole)])

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, which this is about
            process = context.Process(target=child)
            process.start()
        has_answer = answers.poll(60)
        if not has_answer:
            process.kill()
        process.join()
        self.assertTrue(has_answer, "the child waits for threads that it has not")
        self.assertEqual(answers.recv(), want)

    def test_a_model_tells_what_it_is_of(self):
        model = self.predictor.model
        self.assertEqual(model.kernels, ["gemm"])
        self.assertIn(self.predictor.device, model.devices)
        self.assertEqual(model.objectives, ["time"])
        self.assertGreater(model.size, 10_000)
        self.assertRegex(model.digest, r"^[0-9a-f]{16}$")
        self.assertEqual(model.meta["devices"][0]["name"], model.devices[0].name)
        self.assertEqual(seqtune.Model.from_bytes(model.to_bytes()).digest, model.digest)

    def test_a_device_that_the_model_never_saw_is_warned_of(self):
        with self.assertWarns(seqtune.UnseenDeviceWarning):
            predictor = seqtune.Predictor(self.predictor.model, device="H200")
        best = predictor.predict(PROBLEM)[0]
        self.assertTrue(best.unsure)
        self.assertEqual((best.device, best.device_learned, best.time_us, best.time_basis), ("H200", False, None, "absent"))
        self.assertFalse(predictor.device_learned)
        self.assertRegex(predictor.device_note, r"^the model never saw H200 \(learned on pthread-.* only\): .* lost 5.2, 10.9 and 13.7 %")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pickle.loads(pickle.dumps(predictor))


    def test_an_answer_names_its_device_and_what_its_time_rests_on(self):
        best = self.predictor.predict(PROBLEM)[0]
        self.assertEqual((best.device, best.device_learned, best.time_basis), (self.predictor.device.name, True, "learned"))
        self.assertTrue(self.predictor.device_learned)
        self.assertIsNone(self.predictor.device_note)

    def test_of_a_model_of_several_devices_one_is_named_or_live_or_all_are_listed(self):
        folder = str(pathlib.Path(__file__).parents[3] / "models" / "miopen")
        model = seqtune.Model(folder, kernel="ConvOclBwdWrW2")
        listed = "none of them is live here: name the device that is asked about, `MI50`, `RX 6800 XT` or `RX Vega 56`"
        for ask in (lambda: seqtune.Predictor(model), lambda: seqtune.Chooser(model), model.device):
            try:
                ask()
            except seqtune.DeviceNotFoundError as error:
                self.assertIn(listed, str(error))
            else:
                self.skipTest("one of the model's devices is live here: run it on a machine without AMD's GPUs")
        self.assertEqual(seqtune.Predictor(model, device="gfx900_56").device.name, "RX Vega 56")
        one = seqtune.Model(folder, kernel="ConvMlirIgemmFwd")
        self.assertEqual(seqtune.Predictor(one).device.name, "MI50")

    def test_devices_are_called_without_spaces_and_with_their_makers_words(self):
        for name in ("RTX4090", "NVIDIA GeForce RTX 4090", "rtx-4090"):
            self.assertEqual(seqtune.Device(name).name, "RTX 4090")
        with self.assertRaisesRegex(seqtune.DeviceNotFoundError, "did you mean RX Vega 56 or RX Vega 64"):
            seqtune.Device("Vega")


class WrongInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.predictor = seqtune.Predictor(seqtune.shipped(), device="epyc")

    def refused(self, kind, words, call):
        with self.assertRaisesRegex(kind, words) as caught:
            call()
        self.assertIsInstance(caught.exception, seqtune.Error)
        self.assertIsNone(re.search(r"\n", str(caught.exception)))

    def test_problems(self):
        predict = self.predictor.predict
        self.refused(seqtune.ProblemError, "field `N` is missing", lambda: predict("M=3"))
        self.refused(seqtune.ProblemError, "has no field `Q`", lambda: predict({"M": 1, "N": 1, "K": 1, "Q": 1}))
        self.refused(seqtune.ProblemError, "^row 1: .*2.5.* is not a whole number", lambda: predict({"M": [1, 2.5], "N": 1, "K": 1}))
        self.refused(seqtune.InputError, "column `N` has 3 rows", lambda: predict({"M": [1, 2], "N": [1, 2, 3], "K": 1}))
        self.refused(seqtune.ProblemError, "`nan` is not a whole number", lambda: predict({"M": float("nan"), "N": 1, "K": 1}))
        with self.assertRaisesRegex(TypeError, "a text such as .* or a dict, not int"):
            predict([3])

    def test_questions(self):
        predict = self.predictor.predict
        self.refused(seqtune.InputError, "top=0 is not from 1", lambda: predict(PROBLEM, top=0))
        self.refused(seqtune.InputError, "threads=9999 is not", lambda: predict(PROBLEM, threads=9999))
        self.refused(seqtune.InputError, "objective `speed`", lambda: predict(PROBLEM, objective="speed"))
        self.refused(seqtune.MismatchError, "not trained for energy", lambda: predict(PROBLEM, objective="energy"))
        self.refused(seqtune.MismatchError, "not trained for energy", lambda: predict(PROBLEM, within_time=0.02))
        metered = seqtune.Predictor(METERED, kernel="gemm", device="H200").predict
        for share in (-0.1, float("nan"), 1e9):
            self.refused(seqtune.InputError, "within_time is a share", lambda: metered(PROBLEM, within_time=share))
        self.assertRaises(TypeError, metered, PROBLEM, within_time="2%")

    def test_models_kernels_and_devices(self):
        self.refused(seqtune.FileError, "no such file", lambda: seqtune.Model("nowhere"))
        self.refused(OSError, "no such file", lambda: seqtune.Predictor("nowhere"))
        self.refused(seqtune.FileError, "no model `x` ships", lambda: seqtune.shipped("x"))
        self.refused(seqtune.ModelError, "", lambda: seqtune.Model.from_bytes(b"x" * 100))
        self.refused(seqtune.KernelNotFoundError, "no kernel `x`", lambda: seqtune.Kernel("x"))
        self.refused(seqtune.KernelError, "kernel.toml: line 1", lambda: seqtune.Kernel.from_toml("= 1"))
        self.refused(seqtune.DeviceNotFoundError, "no device `x`", lambda: seqtune.Device("x"))
        self.refused(seqtune.InputError, "no limit `speed`", lambda: seqtune.Device.from_limits("x", speed=1))
        self.refused(seqtune.InputError, "is -1", lambda: seqtune.Device.from_limits("x", local_memory=-1))
        self.refused(seqtune.MismatchError, "conv2d", lambda: seqtune.Predictor(seqtune.shipped(), "conv2d", "epyc"))


if __name__ == "__main__":
    unittest.main()
