"""Runs the examples of the package's docstrings and of docs/integrations/python.md: `documents.py ROOT`."""

import doctest
import importlib
import importlib.util
import os
import pathlib
import pkgutil
import re
import sys
import tempfile

import seqtune

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
#: Doors to other tools are imported by their users: their examples run where the tool is installed.
DOORS = {"triton", "inductor", "helion", "kernel_tuner"}


def main(root: pathlib.Path) -> int:
    failed = tried = 0
    names = [name for _, name, _ in pkgutil.iter_modules(seqtune.__path__) if name not in DOORS]
    for module in [seqtune] + [importlib.import_module(f"seqtune.{name}") for name in names]:
        outcome = doctest.testmod(module, optionflags=FLAGS)
        failed, tried = failed + outcome.failed, tried + outcome.attempted
    page = root / "docs/integrations/python.md"
    text = page.read_text()
    if importlib.util.find_spec("pandas") is None:
        print("skipped: the examples of NumPy and pandas; `pip install numpy pandas` brings both")
        text = re.sub(r"## NumPy and pandas.*?(?=\n## )", "", text, flags=re.S)
    # a fence ends an example
    test = doctest.DocTestParser().get_doctest(text.replace("\n```\n", "\n\n"), {}, page.name, str(page), 0)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # examples write files
        outcome = doctest.DocTestRunner(optionflags=FLAGS).run(test)
        os.chdir(root)
    failed, tried = failed + outcome.failed, tried + outcome.attempted
    print(f"{tried} lines of examples, {failed} failed")
    return 1 if failed or tried < 30 else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
