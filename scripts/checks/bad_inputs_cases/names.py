"""Names that collide."""

import json
import subprocess

from .case import Case, FAKE, HEAD, PROGRAM, VEC, made, model, records

COLUMNS = (
    "outcome",
    "detail",
    "median_us",
    "quartile1_us",
    "quartile3_us",
    "samples",
    "joules",
    "registers",
    "local_bytes",
    "library_us",
    "time",
    "times",
    "invalidity",
    "n_field",
    "timestamp",
    "objectives",
)


def swept(name, field_name="n"):
    """A sweep of a program with a parameter of this name."""
    text = HEAD.replace("name = 'A'", f"name = '{name}'").replace("name = 'n'", f"name = '{field_name}'")

    def run(program, folder):
        (folder / "k").mkdir(exist_ok=True)
        (folder / "k/kernel.toml").write_text(text + "[run]\ncommand = ['true']\ntime = 'wall'\nsamples = 3\n")
        made(program, folder, "sweep", "k", "--problems", f"{field_name}=4", f"{field_name}=5", "--exhaustive", "-o", "j.jsonl")
        return ""

    return run


def one_of_each(_, folder):
    """That no column of a table is there twice."""
    columns = (folder / "o.csv").read_text().splitlines()[0].split(",")
    twice = {column for column in columns if columns.count(column) > 1}
    return f"silent: column {min(twice)} is there twice" if twice else ""


def comes_back(answer, folder):
    """That Kernel Tuner's caches, imported again, hold both configs of both problems."""
    files = sorted(str(path.relative_to(folder)) for path in (folder / "caches").glob("*.json"))
    done = subprocess.run(
        [PROGRAM[0], "import", "kernel-tuner", *files, "--kernel", "k", "--device", "live", "-o", "b.jsonl"], cwd=folder, capture_output=True, text=True
    )
    if done.returncode:
        return f"badly: what was exported is not imported again: {done.stderr.strip()[-120:]}"
    found = len(records(folder, "b.jsonl"))
    return "" if found == 4 else f"silent: {found} of 4 records come back"


def names(toy):
    kind = "names that collide"
    for name in COLUMNS:
        yield Case(
            kind,
            f"export csv: a parameter called {name}",
            ["export", "csv", "j.jsonl", "--kernel", "k", "-o", "o.csv"],
            run=swept(name),
            status=(0,),
            check=one_of_each,
        )
        yield Case(
            kind,
            f"export kernel-tuner: a parameter called {name}",
            ["export", "kernel-tuner", "j.jsonl", "--kernel", "k", "-o", "caches"],
            run=swept(name),
            status=(0,),
            check=comes_back,
        )
        if name != "n_field":
            yield Case(
                kind,
                f"export csv: a field called {name}",
                ["export", "csv", "j.jsonl", "--kernel", "k", "-o", "o.csv"],
                run=swept("A", name),
                status=(0,),
                check=one_of_each,
            )
    labels = ("A+1", "A-1", "A_1")
    text = HEAD.replace("}]\nparameter", "}, { name = 'c', kind = 'choice', labels = ['A+1', 'A-1', 'A_1'], meaning = 'x' }]\nparameter", 1)

    def three(program, folder):
        (folder / "k").mkdir(exist_ok=True)
        (folder / "k/kernel.toml").write_text(text + "[run]\ncommand = ['true']\ntime = 'wall'\nsamples = 3\n")
        made(program, folder, "sweep", "k", "--problems", *(f"n=4,c={label}" for label in labels), "--exhaustive", "-o", "j.jsonl")
        return ""

    def three_files(_, folder):
        found = len(list((folder / "caches").glob("*.json")))
        return "" if found == 3 else f"silent: {found} files of 3 problems"

    yield Case(
        kind,
        "export kernel-tuner: problems whose names make one file",
        ["export", "kernel-tuner", "j.jsonl", "--kernel", "k", "-o", "caches"],
        run=three,
        status=(0,),
        check=three_files,
    )

    def other(program, folder):
        swept("A")(program, folder)
        (folder / "other").mkdir()
        (folder / "other/kernel.toml").write_text((folder / "k/kernel.toml").read_text().replace("[1, 2]", "[1, 2, 4]"))
        return ""

    for form in ("csv", "parquet", "kernel-tuner", "t4"):
        yield Case(kind, f"export {form}: by another version of the kernel", ["export", form, "j.jsonl", "--kernel", "other", "-o", f"o.{form}"], run=other)
        yield Case(
            kind,
            f"export {form}: by a kernel of another name",
            ["export", form, "j.jsonl", "--kernel", "v", "-o", f"o.{form}"],
            {"v/kernel.toml": VEC},
            run=swept("A"),
        )
    for words in (
        ["space", "gemm", "M=64,M=64,N=64,K=64", "--device", "H200"],
        ["space", "gemm", "M=64,N=64,K=64,N=32", "--device", "H200"],
        ["predict", "m", "toy", "M=64,M=32"],
    ):
        yield Case(kind, f"{words[0]}: a field given twice", words, {"m": model(toy, lambda d: d), "toy/kernel.toml": (toy / "kernel.toml").read_bytes()})

    def devices(program, folder):
        for shard in ("1/2", "2/2"):
            made(program, folder, *FAKE, "--shard", shard)
        for file, name in (("j.1-of-2.jsonl", "A 1"), ("j.2-of-2.jsonl", "A-1")):
            lines = (folder / file).read_text().splitlines()
            first = json.loads(lines[0])
            first["device"]["name"] = name
            (folder / file).write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")
        return ""

    yield Case(
        kind,
        "merge --by-device: devices whose names make one file",
        ["sweep", "merge", "j.1-of-2.jsonl", "j.2-of-2.jsonl", "-o", "o.sqt", "--by-device", "--partial"],
        run=devices,
    )
