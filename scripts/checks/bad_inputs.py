#!/usr/bin/env python3
"""Gives bad and extreme inputs to builds of the program, and counts by class what is met wrongly.

    scripts/checks/bad_inputs.py [--class CLASS] [--show] NAME=BINARY [NAME=BINARY...]

It prints a table in Markdown with a column for each build; `--show` prints each input that is met wrongly too. The inputs are those of
scripts/checks/bad_inputs_cases. An input is met rightly where the program

* ends by itself within 60 seconds and 700 MB, by an exit status of 0 to 3 and without a panic;
* says what is wrong in one sentence of at most 800 characters where it refuses, and writes no control character;
* gives the exit status, and makes the files, that its case expects;
* leaves the files that lie beside its input as they are, and no process behind.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import bad_inputs_cases

SECONDS, BYTES, SENTENCE = 60, 700 << 20, 800
ROOT = Path(__file__).resolve().parents[2]

#: Hides text, turns it around, or orders a terminal about: all of C0 and C1 but a line's end and a tab, and what Unicode has for it.
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")


class Answer:
    """What became of one command: its status, what it said, how long it took and how much memory."""

    def __init__(self, program, words, folder, more):
        out, err = folder / ".out", folder / ".err"
        environment = {**os.environ, "TMPDIR": str(folder / ".tmp"), "SEQTUNE_CACHE": str(folder / ".cache"), **more}
        (folder / ".tmp").mkdir(exist_ok=True)
        began = time.monotonic()
        with open(out, "wb") as to, open(err, "wb") as told:
            child = subprocess.Popen([program, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=to, stderr=told, env=environment)
            self.status, self.hung = None, False
            while self.status is None:
                process, status, usage = os.wait4(child.pid, os.WNOHANG)
                if process:
                    self.status, self.bytes = os.waitstatus_to_exitcode(status), usage.ru_maxrss << 10
                elif time.monotonic() - began > SECONDS or resident(child.pid) > 8 * BYTES:
                    self.hung = True
                    child.send_signal(signal.SIGKILL)
                    _, _, usage = os.wait4(child.pid, 0)
                    self.status, self.bytes = -signal.SIGKILL, usage.ru_maxrss << 10
                else:
                    time.sleep(0.002)
            child.returncode = self.status
        self.seconds = time.monotonic() - began
        self.out, self.err = out.read_text(errors="replace"), err.read_text(errors="replace")
        out.unlink(), err.unlink()


def resident(process):
    """Bytes of memory that a process has now."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def faults(answer, expected):
    """Why an answer is wrong, in words; empty where it is right."""
    if answer.hung:
        return "hangs" if answer.bytes < BYTES else f"takes {answer.bytes >> 20} MB"
    if answer.bytes > BYTES:
        return f"takes {answer.bytes >> 20} MB"
    if answer.status not in (0, 1, 2, 3) or "panicked" in answer.err:
        return f"aborts: status {answer.status}"
    if HIDDEN.search(answer.out + answer.err):
        return "silent: a control character reaches the terminal"
    if re.search(r"^seqtune: all is well", answer.out + answer.err, re.M):
        return "silent: a name makes a line of its own"
    if answer.status not in expected:
        return f"{'silent: accepted' if answer.status == 0 else 'refused badly'}: status {answer.status}: {answer.err.strip()[-160:]}"
    if answer.status:
        told = [line for line in answer.err.splitlines() if line.startswith(("seqtune: ", "error: "))]
        if len(told) != 1 or len(told[0]) > SENTENCE:
            return f"refused badly: {len(told)} sentences: {answer.err.strip()[:160]}"
    return ""


def contents(folder):
    """Name and bytes of every file below a folder, but the program's own working files."""
    files = [path for path in folder.rglob("*") if not any(part in (".tmp", ".cache") for part in path.relative_to(folder).parts)]
    regular = {str(path.relative_to(folder)): path.read_bytes() for path in files if path.is_file()}
    links = {str(path.relative_to(folder)): os.readlink(path) for path in files if path.is_symlink()}
    return {**regular, **links}


def met(case, program, folder):
    """Why a case is met wrongly by a program; empty where it is met rightly."""
    case.place(folder)
    fault = case.run(program, folder) if case.run else ""
    if not case.words:
        return fault
    before = contents(folder)
    answer = Answer(program, case.words, folder, case.environment)
    fault = faults(answer, case.status)
    after = contents(folder)
    if not fault:
        lost = [name for name, text in before.items() if after.get(name) != text and name not in case.changes]
        fault = f"odd: {lost[0]} changed" if lost else ""
    if not fault and answer.status and (new := set(after) - set(before) - set(case.changes)):
        fault = f"odd: leaves {min(new)}"
    return fault or (case.check(answer, folder) if case.check and answer.status == 0 else "")


def kind_of(fault):
    """One of the four columns of a table of faults."""
    if fault.startswith(("aborts", "takes")):
        return "aborts, gigabytes"
    if fault.startswith("hangs"):
        return "hangs"
    return "in silence" if fault.startswith("silent") else "badly"


def tried(name, program, cases, show):
    """The faults of a program by class and kind."""
    found = Counter()
    bad_inputs_cases.PROGRAM[0] = program
    for at, case in enumerate(cases, 1):
        print(f"\r{name}: {at} of {len(cases)}", end="", file=sys.stderr)
        folder = Path(tempfile.mkdtemp(prefix="bad_inputs_"))
        try:
            fault = met(case, program, folder)
        except bad_inputs_cases.Unmade as error:
            fault = f"badly: {error}"
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if fault:
            found[case.kind, kind_of(fault)] += 1
            if show:
                print(f"\r{name}: {case.kind}: {case.what}: {HIDDEN.sub('?', fault)}", flush=True)
    print(file=sys.stderr)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--class", dest="kind", help="only inputs of this class")
    parser.add_argument("--show", action="store_true", help="print each input that is met wrongly")
    parser.add_argument("builds", nargs="+", metavar="NAME=BINARY")
    given = parser.parse_args()
    cases = [case for case in bad_inputs_cases.cases(ROOT) if given.kind in (None, case.kind)]
    if not cases:
        parser.error(f"no input is of class {given.kind}")
    builds = dict(build.split("=", 1) for build in given.builds)
    found = {name: tried(name, os.path.abspath(path), cases, given.show) for name, path in builds.items()}
    totals = Counter(case.kind for case in cases)
    print("| class | inputs | " + " | ".join(f"{name}: met wrongly" for name in builds) + " |")
    print("|---|---|" + "---|" * len(builds))
    for kind, count in totals.items():
        print(f"| {kind} | {count} | " + " | ".join(row(found[name], kind) for name in builds) + " |")
    print(f"| all | {len(cases)} | " + " | ".join(row(found[name], None) for name in builds) + " |")
    sys.exit(any(found[name] for name in builds))


def row(found, kind):
    """A cell: how many of a class, or of all, are met wrongly, and how."""
    how = Counter()
    for (of, fault), count in found.items():
        if kind in (None, of):
            how[fault] += count
    parts = ", ".join(f"{count} {fault}" for fault, count in sorted(how.items()))
    return f"{sum(how.values())}" + (f" ({parts})" if parts else "")


if __name__ == "__main__":
    main()
