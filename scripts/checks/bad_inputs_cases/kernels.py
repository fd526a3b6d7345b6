"""What `check` and `init` accept."""

from .case import CL_TABLES, Case, HEAD, SWEEP


def checks(toy):
    kind = "check and init"
    for table in (
        "time = { pattern = '(' }",
        "time = { pattern = '(a{1000}){1000}' }",
        "time = { pattern = '(?<=x)(5)' }",
        "time = { pattern = '(?P<x>a)(?P<x>b)' }",
        "time = { pattern = 'time: 5' }",
        "time = 'wall'\nright = '[z-a]'",
        "time = 'wall'\nwrong = '[z-a]'",
        "time = 'wall'\nwrong = '\\'",
        "time = { pattern = '*' }",
        "time = 'wall'\njoules = { pattern = 'x' }",
        "time = 'wall'\ncounter = { misses = { pattern = '*' } }",
        "time = 'wall'\ncores = '3-'",
        "time = 'wall'\nbuild = ['true']\nsetup = ['{build}']",
        "time = 'wall'\nenvironment = { X = '{build}' }",
        "time = 'wall'\ncores = '{build}'",
        "time = 'wall'\nenvironment = { 'A=B' = '1' }",
        "time = 'wall'\ntimeout = -1",
        "time = 'wall'\nsamples = 0",
        "time = { pattern = 'x ([0-9]+)', unit = 'h' }",
        "time = 'wall'\nsetup = ['{q}']",
    ):
        files = {"k/kernel.toml": HEAD + f"[run]\ncommand = ['true']\n{table}\n"}
        for words in (["check", "k"], ["space", "k", "n=4", "--device", "H200"], SWEEP):
            yield Case(kind, f"{words[0]}: [run] {table.splitlines()[-1]}", words, files)
    base = ["init", "p", "--command", "echo {n} {tile}", "--field", "n=1..10", "--parameter", "tile=1,2"]
    for words in (
        ["--time", "("],
        ["--time", "(?P<x>a)(?P<x>b)"],
        ["--time", "time"],
        ["--time", "(?<=x)(5)"],
        ["--right", "(a{1000}){1000}"],
        ["--right", "\\"],
        ["--wrong", "[z-a]"],
        ["--parameter", "n=1,2"],
        ["--field", "work=1..2"],
        ["--field", "a\x1b[31mb=1..2"],
        ["--environment", "=x"],
        ["--field", "n=1..2"],
        ["--parameter", "tile=3"],
        ["--parameter", "a=1,1"],
        ["--parameter", "a="],
        ["--field", "z=9..1"],
        ["--field", "z=x..y"],
        ["--field", "seed=1..2"],
        ["--parameter", "time=1,2", "--field", "time=1..2"],
        ["--build", "make"],
        ["--parameter", "max_group_items=1,2"],
    ):
        yield Case(kind, f"init {' '.join(words)}", [*base, *words])
    for command in ("echo {build}", "a 'b", "a {q}", ""):
        yield Case(kind, f"init --command {command or 'nothing'}", ["init", "p", "--command", command, "--field", "n=1..9", "--parameter", "A=1,2"])
    device = lambda name, more="": f"[[device]]\nname = '{name}'\n{more}\nlimits = {{ is_cpu = 0.0 }}\n"
    for what, text in (
        ("twice", device("one") + device("one")),
        ("twice but for case", device("one") + device("ONE")),
        ("its name as an alias", device("one", "aliases = ['two']") + device("two")),
        ("NaN", "[[device]]\nname = 'x'\nlimits = { local_memory = nan }\n"),
        ("a limit below 0", "[[device]]\nname = 'x'\nlimits = { local_memory = -1.0 }\n"),
        ("a limit unknown", "[[device]]\nname = 'x'\nlimits = { lokal = 1.0 }\n"),
    ):
        for words in (["check", "d.toml"], ["space", "gemm", "M=64,N=64,K=64", "--device", "d.toml"]):
            yield Case(kind, f"{words[0]}: a device, {what}", words, {"d.toml": text})
    text = HEAD + CL_TABLES
    for what, changed in (
        ("no output", text.replace("'out'", "'in'")),
        ("an output of ints", text.replace("kind = 'out'", "kind = 'int'\nvalue = '1'")),
        ("no element", text.replace("element = '4'", "element = '0'")),
    ):
        yield Case(kind, f"check: arguments with {what}", ["check", "k"], {"k/kernel.toml": changed, "k/x.cl": "kernel void entry(global float* y) {}"})
    parameter = lambda name: f"[[parameter]]\nname = '{name}'\nvalues = [1, 2]\ndefault = 1\nmeaning = 'one'\n"
    field_ = lambda name: f"[[field]]\nname = '{name}'\nkind = 'choice'\nlabels = ['a', 'b']\ncompiled = true\nmeaning = 'one'\n"
    run = "[run]\ncommand = ['true']\ntime = 'wall'\n"
    for name, parts in (
        ("mine", field_("A") + parameter("A")),
        ("mine", field_("A") + field_("A") + parameter("B")),
        ("mine", parameter("A") + parameter("A")),
        ("mine", parameter("local_memory")),
        ("mine", field_("is_cpu") + parameter("A")),
        ("mine", field_("seed") + parameter("A")),
        ("-mine", parameter("A")),
        ("--help", parameter("A")),
        ("../mine", parameter("A")),
        ("a b", parameter("A")),
        ("", parameter("A")),
        ("mine", parameter("A b")),
        ("mine", parameter("1A")),
        ("mine", parameter("")),
    ):
        text = f"name = '{name}'\nmeaning = 'mine'\n{parts}{run}"
        for words in (["check", "k"], ["sweep", "k", "--problems", "n=4", "--exhaustive", "-o", "j.jsonl"]):
            yield Case(kind, f"{words[0]}: names that are none, or of two things", words, {"k/kernel.toml": text})
