"""Text from outside flows on: into a terminal, a file, code."""

import json
import subprocess

from .case import CL_TABLES, Case, HEAD, HOSTILE, SWEEP, head, journal, model, toml, with_value


def compiles(_, folder):
    """That an exported header is right C++."""
    (folder / "main.cpp").write_text(
        '#include <climits>\n#include <cmath>\n#include <cstdio>\n#include "o.h"\nint injected() { return 0; }\nint main() { return injected(); }\n'
    )
    done = subprocess.run(["c++", "-std=c++17", "-I.", "-fsyntax-only", "-w", "main.cpp"], cwd=folder, capture_output=True, text=True)
    return f"odd: {done.stderr.splitlines()[0][:120]}" if done.returncode else ""


def texts(toy):
    kind = "text from outside"
    kernel = {"toy/kernel.toml": (toy / "kernel.toml").read_bytes()}
    verbs = [["check", "j.jsonl"], ["check", "j.jsonl", "--json"], ["sweep", "status", "."], ["export", "dataset", "j.jsonl", "-o", "o.sqt"]]
    for key in (("command",), ("tool",), ("date",), ("device", "vendor"), ("device", "architecture"), ("device", "source"), ("device", "driver")):
        for name, text in HOSTILE.items():
            for words in verbs if name == "an escape sequence" else verbs[:1]:
                yield Case(kind, f"{words[0]}: {name} in a journal's {key[-1]}", words, run=journal(head(*key, value=text)), status=(0, 2))
    for name, text in HOSTILE.items():
        file = f"x{text}.jsonl"
        for words in (["check", file], ["sweep", "status", "."], ["export", "csv", file, "-o", "o.csv"], ["sweep", "merge", file, "-o", "o.sqt"]):
            yield Case(kind, f"{words[0]}: {name} in a file's name", words, run=journal(lambda lines: lines, file), status=(0, 2))
        yield Case(kind, f"check: {name} in the kernel's name of a journal", ["check", "j.jsonl"], run=journal(head("kernel", value=text)), status=(2,))
        for key in ("date", "tool", "command"):
            yield Case(kind, f"check: {name} in a model's {key}", ["check", "m"], {"m": model(toy, with_value(text, key))}, status=(0, 2))
        for words in (["check", "m"], ["predict", "m", "toy", "M=64"]):
            files = {"m": model(toy, with_value(text, "devices", 0, "name")), **kernel}
            yield Case(kind, f"{words[0]}: {name} in the name of a model's device", words, files, status=(2,))
        for place in ("meaning = 'mine'", "name = 'A'", "meaning = 'size'"):
            changed = HEAD.replace(place, f"{place.split(' = ')[0]} = {toml(text)}", 1) + "[run]\ncommand = ['true']\ntime = 'wall'\n"
            for words in (["check", "k"], ["space", "k", "n=4", "--device", "H200"]):
                yield Case(kind, f"{words[0]}: {name} in {place.split(' = ')[0]} of a kernel", words, {"k/kernel.toml": changed}, status=(0, 2))
        script = f"printf '%s\\n' {json.dumps(text, ensure_ascii=False)}\nexit 1\n".encode()
        table = HEAD + "[run]\ncommand = ['sh', '{kernel}/s.sh']\nfiles = ['s.sh']\ntime = { pattern = 'time ([0-9.]+)' }\n"
        yield Case(kind, f"sweep: {name} in what a program prints", SWEEP, {"k/kernel.toml": table, "k/s.sh": script}, (0, 1, 3), ("j.jsonl",))
        device = f"[[device]]\nname = {toml(text)}\nlimits = {{ is_cpu = 0.0 }}\n"
        for words in (["check", "d.toml"], ["space", "toy", "M=64", "--device", "d.toml"]):
            yield Case(kind, f"{words[0]}: {name} in a device's name", words, {"d.toml": device, **kernel}, (2,))
    header = ["export", "header", "m", "M=64", "M=128", "--kernel", "toy", "--samples", "30", "-o", "o.h"]
    for name in ("A100 */ int injected; /*", "A100 */ #error x", "A100 \\", "A100 ??/", 'A100 " + "', "A100 // \\"):
        files = {"m": model(toy, with_value(name, "devices", 0, "name")), **kernel}
        yield Case(kind, f"export header: a device called `{name}`", header, files, (0, 2), ("o.h",), compiles)
    for name in ("_", "1st", "a b", "seqtune", "NULL", "INT_MAX"):
        device = (toy.parent.parent.parent / "kernels/devices.toml").read_text().split("[[device]]")[1].replace('name = "H200"', f"name = {json.dumps(name)}")
        words = ["export", "header", "m", "M=64", "--kernel", "toy", "--samples", "30", "-o", "o.h", "--device", "d.toml"]
        yield Case(
            kind,
            f"export header: --device of a device called `{name}`",
            words,
            {"m": model(toy, lambda d: d), "d.toml": "[[device]]" + device, **kernel},
            (0, 2),
            ("o.h",),
            compiles,
        )
    # a parameter, a field or a label called like a macro, a word or a type of C
    source = "kernel void entry(global float* y) {}"
    for name in ("float", "int", "entry", "kernel", "global", "half", "__global", "defined", "NULL"):
        text = HEAD.replace("name = 'A'", f"name = '{name}'") + CL_TABLES
        yield Case(
            kind,
            f"check: parameter `{name}` of an OpenCL kernel",
            ["check", "k"],
            {"k/kernel.toml": text, "k/x.cl": source},
            (2,) if name in ("float", "int", "entry") else (0, 2),
        )
