"""Files of other tools that are read wrongly: values, and parts that are bad."""

import json

from .case import MIOPEN, Case, HEAD, SWEEP, VEC, records


def cache(entries, device="NVIDIA T4", kernel="vec", **more):
    """A cache file of Kernel Tuner's, of blocks and their times as they are written."""
    inner = ", ".join(f'"{block}": {{"block": {block}, "time": {time_}{more_}}}' for block, time_, *rest in entries for more_ in ["".join(rest)])
    extra = "".join(f', "{key}": {json.dumps(value)}' for key, value in more.items())
    return f'{{"device_name": "{device}", "kernel_name": "{kernel}", "problem_size": 1000, "tune_params_keys": ["block"]{extra}, "cache": {{{inner}}}}}'


def t4(values, unit=None, objective="time", timeunit=None):
    results = [
        {
            "timestamp": "2024-01-01 00:00:00 UTC",
            "configuration": {"block": block},
            "objectives": [objective],
            "invalidity": "correct",
            "correctness": 1,
            "times": {"compilation_time": 9.0, "runtimes": [value], "framework": 1.0, "search_algorithm": 1.0, "validation": 1.0},
            "measurements": [{"name": objective, "value": value, **({"unit": unit} if unit is not None else {})}],
        }
        for block, value in values
    ]
    return json.dumps({"schema_version": "1.0.0", **({"metadata": {"timeunit": timeunit}} if timeunit else {}), "results": results})


def microseconds(expected, name="o.jsonl"):
    """That the records' first samples are these, in microseconds; None for a config that failed."""

    def check(_, folder):
        found = [
            record["outcome"].get("Measured", {}).get("samples_us", [None])[0] if isinstance(record["outcome"], dict) else None
            for record in records(folder, name)
        ]
        right = len(found) == len(expected) and all(a is None and b is None or None not in (a, b) and abs(a - b) <= 1e-4 * b for a, b in zip(found, expected))
        return "" if right else f"silent: read as {found}, which is {expected}"

    return check


def from_cache(text, expected=None, more=(), files=None, status=(0,), what="", kind="values of others", name="c.json"):
    words = ["import", "kernel-tuner", *(files or {name: text}), "--kernel", "k", "-o", "o.jsonl", *more]
    return Case(
        kind,
        f"import kernel-tuner: {what}",
        words,
        {**(files or {name: text}), "k/kernel.toml": VEC},
        status,
        check=microseconds(expected) if expected else None,
    )


def others_values(_):
    kind = "values of others"
    for unit, factor in (
        ("Microseconds", 1),
        ("microseconds", 1),
        ("milliseconds", 1e3),
        ("miliseconds", 1e3),
        ("ms", 1e3),
        ("us", 1),
        ("seconds", 1e6),
        ("s", 1e6),
        ("nanoseconds", 1e-3),
        ("ns", 1e-3),
        ("", None),
        ("parsecs", None),
        ("hours", None),
        ("GFLOP/s", None),
    ):
        words = ["import", "t4", "t.json", "--kernel", "k", "--problem", "n=1000", "--device", "H200", "-o", "o.jsonl"]
        values = [(32, 96.5), (64, 61.25)]
        expected = factor and [value * factor for _, value in values]
        status = (0,) if factor else (2,) if unit else (0, 2)
        yield Case(
            kind,
            f"import t4: a measurement in {unit or 'no unit'}",
            words,
            {"t.json": t4(values, unit), "k/kernel.toml": VEC},
            status,
            check=microseconds(expected) if expected else None,
        )
        if unit not in ("", "GFLOP/s"):
            yield Case(
                kind,
                f"import t4: a file in {unit}",
                words,
                {"t.json": t4(values, None, timeunit=unit), "k/kernel.toml": VEC},
                status,
                check=microseconds(expected) if expected else None,
            )
    for objective in ("GFLOP/s", "power", "ps_energy", "registers"):
        words = ["import", "t4", "t.json", "--kernel", "k", "--problem", "n=1000", "--device", "H200", "-o", "o.jsonl"]
        text = json.loads(t4([(32, 96.5)], None, objective))
        for result in text["results"]:
            result["times"].pop("runtimes")
        yield Case(kind, f"import t4: the objective is {objective}", words, {"t.json": json.dumps(text), "k/kernel.toml": VEC}, (2,))
    good = [(32, "0.5"), (64, "0.25"), (128, "1.0")]
    for value in ("NaN", "Infinity", "-Infinity"):
        yield from_cache(cache([*good, (256, "0.125", f', "GFLOP/s": {value}')]), [500, 250, 1000, 125], what=f"{value} in a metric that is not read")
        yield from_cache(cache([*good, (256, value)]), [500, 250, 1000], what=f"a time of {value}")
    for value, us in (
        ("0", None),
        ("-1", None),
        ("1e300", "failed"),
        ("1e15", None),
        ("null", None),
        ('"RuntimeFailedConfig"', "failed"),
        ('"CompilationFailedConfig"', "failed"),
        ('"InvalidConfig"', "failed"),
    ):
        yield from_cache(cache([*good, (256, value)]), [500, 250, 1000] + ([None] if us else []), what=f"a time of {value}")
    yield from_cache(
        cache([(32, "0.5", ', "times": [0.75, 0.5]'), (64, "0.25", ', "times": 0.25'), (128, "1.0", ', "times": []')]),
        [500, 250, 1000],
        what="one time in place of a list",
    )
    for value in ('"0.5"', "[0.5]"):
        yield from_cache(cache([*good, (256, value)]), [500, 250, 1000, 500], what=f"a time of {value}")
    switch = "name = 'vec'\nmeaning = 'x'\nfield = [{ name = 'n', kind = 'size', min = 1, max = 1000000, shape = true, meaning = 'e' }]\nparameter = [{ name = 'on', labels = ['False', 'True'], default = 'False', meaning = 's' }]\nwork = { flops = 'n', bytes = 'n' }\n"
    for off, on in (("false", "true"), ('"False"', '"True"')):
        text = f'{{"device_name": "NVIDIA T4", "kernel_name": "vec", "problem_size": 1000, "tune_params_keys": ["on"], "cache": {{"a": {{"on": {off}, "time": 0.5}}, "b": {{"on": {on}, "time": 0.25}}}}}}'
        case = from_cache(text, [500, 250], what=f"values {off} and {on}")
        case.files["k/kernel.toml"] = switch
        yield case
    for value in ("64.0", '"64"', "6.4e1"):
        yield from_cache(cache([(32, "0.5")]).replace('"block": 32', f'"block": {value}'), [500], what=f"a value of {value}")
    for value in ("64.5", "null", '"big"', "[64]", "true", "65"):
        yield from_cache(cache([*good, (256, "0.125")]).replace('"block": 256', f'"block": {value}'), [500, 250, 1000], what=f"a value of {value}")
    # the numbers that a program prints
    run = (
        HEAD.replace("[1, 2]", "[1]")
        + "[run]\ncommand = ['sh', '{kernel}/s.sh']\nfiles = ['s.sh']\nsamples = 2\ntime = { pattern = 'time: ([0-9.]+)', unit = 'ms' }\n"
    )
    for printed, us in (
        ("1.8 ms", 1800),
        ("1,8 ms", None),
        ("1.8E-03 ms", None),
        ("1.8e+00 ms", None),
        ("1,238.5 ms", None),
        ("1.8 us", None),
        ("18446744073709.2 ms", None),
        ("0.000 ms", None),
        ("1.8.2 ms", None),
        ("1_800 ms", None),
    ):
        yield Case(
            kind,
            f"sweep: a program prints `time: {printed}`",
            SWEEP,
            {"k/kernel.toml": run, "k/s.sh": f"echo 'time: {printed}'\n"},
            (0,) if us else (0, 1, 3),
            ("j.jsonl",),
            microseconds([us], "j.jsonl"),
        )
    # CLBlast's clock
    one, two = (
        "WGD=8,MDIMCD=8,NDIMCD=8,MDIMAD=8,NDIMBD=8,KWID=2,VWMD=1,VWND=1,PADA=1,PADB=1",
        "WGD=32,MDIMCD=16,NDIMCD=8,MDIMAD=16,NDIMBD=8,KWID=2,VWMD=2,VWND=4,PADA=1,PADB=1",
    )
    for times, expected in (((0.412, 0.0), [412]), ((0.004, 0.0), [4, 0.5]), ((0.412, -1), [412]), ((0.412, 1e12), [412])):
        yield Case(
            kind,
            f"import clblast: times of {times} ms",
            ["import", "clblast", "c.json", "-o", "o.jsonl"],
            {"c.json": clblast(list(zip((one, two), times)))},
            (0,),
            check=microseconds(expected),
        )


def clblast(rows, device="A processor", **more):
    results = [
        {"kernel": "XgemmDirectTN", "time": ms, "parameters": {**{k: int(v) for k, v in (pair.split("=") for pair in config.split(","))}, "PRECISION": 32}}
        for config, ms in rows
    ]
    base = {
        "kernel_family": "xgemm_direct_1",
        "precision": "32",
        "arg_m": "64",
        "arg_n": "96",
        "arg_k": "64",
        "arg_alpha": "2.00",
        "device": device,
        "device_vendor": "A maker",
        "device_type": "CPU",
        "device_core_clock": "2500",
        "device_compute_units": "4",
        "platform_version": "OpenCL 3.0",
    }
    return json.dumps({**base, **more, "results": results})


def others_parts(_):
    kind = "one bad part"
    whole = cache([(32, "0.5"), (64, "0.25"), (128, "1.0")])
    for back in (1, 3, 6, 9, 14):
        yield from_cache(whole[:-back], [500, 250] if back > 2 else [500, 250, 1000], what=f"cut {back} bytes before its end", kind=kind)
        yield from_cache(whole[:-back], status=(2,) if back > 2 else (0, 2), more=("--strict",), what=f"cut {back} bytes before its end, --strict", kind=kind)
    yield from_cache(whole[:-2] + ",", [500, 250, 1000], what="open, as a running tuner leaves it", kind=kind)
    for name, text in (("nothing", ""), ("no JSON", "nothing"), ("another thing", "[1, 2]"), ("binary", b"\x00\xff\xfe"), ("an empty object", "{}")):
        yield from_cache(None, [500, 250, 1000], files={"a.json": whole, "b.json": text}, what=f"one file of two is {name}", kind=kind)
        yield from_cache(text, status=(2,), what=f"the only file is {name}", kind=kind)
    yield Case(
        kind,
        "import kernel-tuner: one file of two is missing",
        ["import", "kernel-tuner", "a.json", "none.json", "--kernel", "k", "-o", "o.jsonl"],
        {"a.json": whole, "k/kernel.toml": VEC},
        (0,),
        check=microseconds([500, 250, 1000]),
    )
    driver = "MIOpenDriver conv -n 8 -c 64 -H 28 -W 28 -k 64 -y 1 -x 1 -F 1"
    export = ["export", "miopen", "ConvAsm1x1U", "n.txt", "--device", "MI50", "-o", "u.txt"]
    for line in (
        "MIOpenDriver pool -n 4",
        "MIOpenDriver conv -n 4 -c 32 -H 80 -W 80 -k 1 -m trans -F 1",
        "MIOpenDriver convfp8 -n 16 -c 64 -H 28 -W 28 -k 128 -F 1",
        "some other words of a log",
        "MIOpenDriver conv -n 1 -n 2 -F 1",
    ):
        yield Case(
            kind,
            f"export miopen: a line `{line}` among others",
            [*export[:2], MIOPEN, *export[3:]],
            {"n.txt": f"{driver}\n{line}\n{driver.replace('-n 8', '-n 16')}\n"},
            (0,),
        )
        yield Case(kind, f"export miopen: nothing but `{line}`", [*export[:2], MIOPEN, *export[3:]], {"n.txt": f"{line}\n"})
