"""Every door of the package, given every bad value in turn: an error of the package or Python's own for a wrong type, in a short sentence.

``python test_doors.py`` prints how many calls that are.
"""

import inspect
import os
import tempfile
import unittest
import warnings

import seqtune
from seqtune import errors
from test_outside import HUGE, UNSAID, Unsayable

PROBLEM = "M=64,N=64,K=64"


def raising(*_given, **_named):
    raise KeyError("an error of the user's own")


class Raising:
    """What a user may hand over: an object of which everything raises."""

    __str__ = __repr__ = __len__ = __iter__ = __index__ = __float__ = __fspath__ = raising


#: Values that no door takes, by name.
BAD = {
    "None": None,
    "an empty text": "",
    "a long text": "x" * 100_000,
    "a text with a zero": "a\0b",
    "an escape sequence": "\x1b[2J",
    "half a character": "\ud800",
    "bytes": b"gemm",
    "a huge number": HUGE,
    "a number of 5,000 digits": UNSAID,
    "a negative number": -1,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "a list": [[[]]],
    "a list of itself": (lambda self: self.append(self) or self)([]),
    "a dict of nothing": {},
    "a dict by numbers": {1: 2},
    "a dict of what is no value": {"M": Unsayable(), "N": 64, "K": 64},
    "a class": dict,
    "a function": raising,
    "an object that raises": Raising(),
    "an object without a text": Unsayable(),
    "a path below a file": os.path.join(__file__, "below"),
    "a folder": os.sep,
}


def doors(folder):
    """Calls by name, each with a place for one value."""
    model = seqtune.shipped("gemm-cpu")
    kernel = seqtune.Kernel("gemm")
    device = model.device("epyc")
    predictor = seqtune.Predictor(model, device=device)
    space = seqtune.Space("gemm", PROBLEM, device)
    chooser = seqtune.Chooser(model, device=device)
    path = os.path.join(folder, "sweep.jsonl")

    def swept(**named):
        given = {"kernel": "gemm", "measure": lambda problem, config: 1.0, "problems": [PROBLEM], "device": device, "journal": path}
        return seqtune.sweep(**{**given, "sample": 1, "progress": False, **named})

    found = {
        "Kernel()": seqtune.Kernel,
        "Kernel.from_toml(text)": seqtune.Kernel.from_toml,
        "Kernel.from_toml(sources)": lambda bad: seqtune.Kernel.from_toml("name = 'k'", bad),
        "Kernel.problem()": kernel.problem,
        "Kernel.config()": kernel.config,
        "Device()": seqtune.Device,
        "Device.from_json()": seqtune.Device.from_json,
        "Device.from_limits(name)": lambda bad: seqtune.Device.from_limits(bad, no_limit=1.0),
        "Device.from_limits(limit)": lambda bad: seqtune.Device.from_limits("d", no_limit=bad),
        "Model()": seqtune.Model,
        "Model(kernel)": lambda bad: seqtune.Model("/nowhere", bad),
        "Model.from_bytes()": seqtune.Model.from_bytes,
        "shipped(name)": lambda bad: seqtune.shipped(bad),
        "shipped(quality)": lambda bad: seqtune.shipped("gemm-cpu", bad),
        "Model.device()": lambda bad: model.device(bad if bad is not None else ""),
        "Predictor(model)": seqtune.Predictor,
        "Predictor(kernel)": lambda bad: seqtune.Predictor(model, bad if bad is not None else 1, "epyc"),
        "Predictor(device)": lambda bad: seqtune.Predictor(model, device=bad if bad is not None else ""),
        "Predictor.predict(problems)": lambda bad: predictor.predict(bad) or raising(),
        "Predictor.predict(row)": lambda bad: predictor.predict([PROBLEM, bad]),
        "Predictor.predict(column)": lambda bad: predictor.predict({"M": [64, bad], "N": 64, "K": 64}),
        "Predictor.predict(field)": lambda bad: predictor.predict({"M": bad, "N": 64, "K": 64}),
        "Predictor.predict(top)": lambda bad: predictor.predict(PROBLEM, top=bad),
        "Predictor.predict(width)": lambda bad: predictor.predict(PROBLEM, width=bad),
        "Predictor.predict(objective)": lambda bad: predictor.predict(PROBLEM, objective=bad),
        "Predictor.predict(threads)": lambda bad: predictor.predict(PROBLEM, threads=bad),
        "Predictor.cover(problem)": predictor.cover,
        "Predictor.cover(share)": lambda bad: predictor.cover(PROBLEM, share=bad),
        "Predictor.part()": predictor.part,
        "Predictor.shown()": predictor.shown,
        "Predictor.predict_among(problem)": lambda bad: predictor.predict_among(bad, [kernel.default]),
        "Predictor.predict_among(config)": lambda bad: predictor.predict_among(PROBLEM, [bad]),
        "Space(kernel)": lambda bad: seqtune.Space(bad, PROBLEM, device),
        "Space(problem)": lambda bad: seqtune.Space("gemm", bad, device),
        "Space(device)": lambda bad: seqtune.Space("gemm", PROBLEM, bad),
        "Space.is_legal()": space.is_legal,
        "Space.violation()": space.violation,
        "Space.sample(n)": lambda bad: space.sample(bad),
        "Space.sample(seed)": lambda bad: space.sample(1, seed=bad),
        "Space.completions()": lambda bad: space.completions([bad]),
        "Chooser(model)": lambda bad: seqtune.Chooser(bad),
        "Chooser(top)": lambda bad: seqtune.Chooser(model, device=device, top=bad),
        "Chooser.pick()": chooser.pick,
        "sweep(kernel)": lambda bad: swept(kernel=bad),
        "sweep(measure)": lambda bad: swept(measure=bad),
        "sweep(problems)": lambda bad: swept(problems=bad),
        "sweep(device)": lambda bad: swept(device=bad),
        "sweep(journal)": lambda bad: swept(journal=bad),
        "sweep(sample)": lambda bad: swept(sample=bad if bad is not None else 0),
        "sweep(seed)": lambda bad: swept(seed=bad),
    }
    assert all(callable(door) for door in found.values())
    return found


#: What a door may take although another does not: texts are names where any name will do, and what is left out has a default.
TAKEN = {
    ("Device.from_limits(name)", "a long text"),
}


def faults():
    """Calls, and what is wrong of those that are answered wrongly."""
    count, wrong = 0, []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, door in doors(folder).items():
            for what, bad in BAD.items():
                count += 1
                try:
                    given = door(bad)
                except (seqtune.Error, TypeError) as error:
                    said = str(error)
                    if not 0 < len(said) <= errors.SENTENCE or not said.isprintable():
                        wrong.append(f"{name} of {what}: a message of {len(said)} characters, {said[:80]!r}")
                except BaseException as error:
                    wrong.append(f"{name} of {what}: {type(error).__name__}: {str(error)[:80]}")
                else:
                    if (name, what) not in TAKEN:
                        wrong.append(f"{name} takes {what}: {repr(given)[:80]}")
    return count, wrong


class Doors(unittest.TestCase):
    def test_every_door_refuses_every_bad_value_in_a_sentence(self):
        count, wrong = faults()
        self.assertGreater(count, 1000)
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    calls, wrong = faults()
    print(f"{calls} bad calls of {calls // len(BAD)} doors, {len(wrong)} answered wrongly", *wrong, sep="\n")
