"""What has no end: children that stay, and inputs that hang."""

import os
import signal
import subprocess
import time
from pathlib import Path

from .case import Case, FAKE, HEAD, SCHEMA, SWEEP, database, made, model

SCRIPTS = {
    "a child": "sleep 600 & echo $! >> {pids}; echo $$ >> {pids}; wait",
    "a child that takes no signal": "trap '' HUP INT QUIT TERM; (trap '' HUP INT QUIT TERM; exec sleep 600) & echo $! >> {pids}; echo $$ >> {pids}; wait; sleep 600",
    "a daemon": "(setsid sh -c 'echo $$ >> {pids}; exec sleep 600' > /dev/null 2>&1 &); sleep 600",
    "a daemon without an environment": "(env -i $(command -v setsid) sh -c 'echo $$ >> {pids}; exec sleep 600' > /dev/null 2>&1 &); sleep 600",
    "a daemon's child": "(setsid sh -c 'sleep 600 & echo $! >> {pids}; wait' > /dev/null 2>&1 &); sleep 600",
}


def is_running(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(") ", 1)[1][0] not in "ZX"
    except (OSError, IndexError):
        return False


def ended_by(number, script):
    """Starts a sweep, ends it by a signal, and looks for what goes on."""

    def run(program, folder):
        pids = folder / "pids"
        (folder / "k/s.sh").write_text(script.replace("{pids}", str(pids)) + "\n")

        def ready():
            # as the system sends them, whatever started this script ignores
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1):
                signal.signal(each, signal.SIG_DFL)

        child = subprocess.Popen([program, *SWEEP], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=ready)
        began = time.monotonic()
        while not (pids.is_file() and pids.read_text().strip()) and time.monotonic() < began + 20:
            time.sleep(0.01)
        time.sleep(0.2)
        child.send_signal(number)
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            return "hangs: after the signal"
        # what holds it is given ten seconds
        found = [int(line) for line in pids.read_text().split()] if pids.is_file() else []
        began = time.monotonic()
        while any(map(is_running, found)) and time.monotonic() < began + 10:
            time.sleep(0.05)
        left = [process for process in found if is_running(process)]
        for process in left:
            os.kill(process, signal.SIGKILL)
        return "odd: left running" if left else ("badly: the program was never started" if not found else "")

    return run


def children(_):
    kind = "children that stay"
    table = HEAD + "[run]\ncommand = ['sh', '{kernel}/s.sh']\nfiles = ['s.sh']\ntime = 'wall'\ntimeout = 600\n"
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGKILL):
        for what, script in SCRIPTS.items():
            yield Case(kind, f"{number.name} while {what} runs", files={"k/kernel.toml": table, "k/s.sh": ""}, run=ended_by(number, script))


def pipe(path):
    os.mkfifo(path)


def endless(toy):
    kind = "hangs"
    view = "CREATE VIEW perf_db AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id, 'ConvAsm1x1U' AS solver, 1 AS config, '1' AS params FROM n"
    for what, statements in (
        ("perf_db", [SCHEMA, "DROP TABLE perf_db", view]),
        (
            "config",
            [
                SCHEMA,
                "ALTER TABLE config RENAME TO other",
                "CREATE VIEW config AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id FROM n",
            ],
        ),
    ):
        yield Case(
            kind, f"import miopen: {what} is a view without end", ["import", "miopen", "gfx906_60.db", "-o", "out"], {"gfx906_60.db": database(*statements)}
        )
    words = " ".join(f"word{n}" for n in range(1_000_000))
    for name, source in (
        ("a million words", words),
        ("a million macros", "".join(f"#define M{n} {n}\n" for n in range(200_000))),
        ("a line of 10 MB", "int x = " + "1 + " * 2_500_000 + "1;"),
    ):
        for ending in ("cl", "cu"):
            yield Case(
                kind,
                f"init: a source of {name} ({ending})",
                ["init", "p", "--source", f"s.{ending}", "--field", "n=1..9", "--parameter", "A=1,2"],
                {f"p/s.{ending}": source},
                (0, 2),
                check=lambda *_: "",
            )
    long = HEAD + "[run]\ncommand = ['sh', '{kernel}/s.sh', '{A}']\nfiles = ['s.sh']\nsamples = 2\ntime = { pattern = 'took ([0-9.]+) s' }\n"
    for what, more, script in (
        ("200,000 lines with a time", "", 'yes "took 0.001 s" | head -n 200000\n'),
        (
            "4 MB that may each begin a match",
            "wrong = '[0-7][0-9a-f]{4000}[^0-9a-f\\s]'\n",
            "od -An -v -tx1 /dev/urandom | tr -d ' \\n' | head -c 4000000; echo; echo took 0.001 s\n",
        ),
        ("a line of 100 MB", "", "head -c 100000000 /dev/zero | tr '\\0' x; echo; echo took 0.001 s\n"),
        ("output without end", "timeout = 3\n", "yes took\n"),
    ):
        yield Case(kind, f"sweep: a program prints {what}", SWEEP, {"k/kernel.toml": long + more, "k/s.sh": script}, (0, 1, 3), ("j.jsonl",))
    served = """import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    while asked["config"]["A"] == 2:
        print(json.dumps({"id": asked["id"] - 1, "time_ms": 1}), flush=True)
    print(json.dumps({"id": asked["id"], "time_ms": 1}), flush=True)
"""
    table = HEAD + "[run]\ncommand = ['python3', '{kernel}/s.py']\nfiles = ['s.py']\nserve = true\ntimeout = 5\nsamples = 2\n"
    yield Case(kind, "sweep: old answers without end", SWEEP, {"k/kernel.toml": table, "k/s.py": served}, (0, 1, 3), ("j.jsonl",))
    toml = {"toy/kernel.toml": (toy / "kernel.toml").read_bytes(), "m": model(toy, lambda d: d)}
    for what, place in (("a pipe that nobody writes", pipe), ("/dev/zero", lambda path: path.symlink_to("/dev/zero"))):
        for words in (
            ["check", "x"],
            ["export", "dataset", "x", "-o", "o.sqt"],
            ["export", "csv", "x", "-o", "o.csv"],
            ["sweep", "status", "x"],
            ["predict", "m", "x", "M=64"],
            ["predict", "x", "toy", "M=64"],
            ["space", "toy", "M=64", "--device", "x"],
            ["import", "kernel-tuner", "x", "--kernel", "toy", "-o", "o.sqt"],
            ["import", "miopen", "x", "-o", "out"],
            ["import", "clblast", "x", "-o", "o.sqt"],
            ["sweep", "gemm", "--device", "fake", "--problems", "x", "--sample", "3", "-o", "j.jsonl"],
            ["sweep", "gemm", "--device", "fake", "--problems", "M=64,N=64,K=64", "--sample", "3", "-o", "x"],
            ["export", "miopen", "x", "x", "-o", "u.txt"],
            ["init", ".", "--source", "x", "--field", "n=1..9", "--parameter", "A=1,2"],
            ["predict", "m", "toy", "x"],
        ):
            yield Case(kind, f"{' '.join(words[:2])}: {what}", words, {"x": place, **toml}, (0, 2) if words[0] == "status" else (2,))

    def locked(program, folder):
        made(program, folder, *FAKE)
        for name in ("j.jsonl.lock", ".j.jsonl.lock"):
            if not (folder / name).exists():
                os.mkfifo(folder / name)
        return ""

    yield Case(kind, "sweep: its lock is a pipe", FAKE, run=locked, status=(0, 2))
