#!/usr/bin/env python3
"""Writes figures into documents, between the line `<!-- figures: scripts/FOLDER/SCRIPT -->` and the end marker; and reads them there.

usage: scripts/figures/put_figures.py SCRIPT FIGURES DOCUMENT...
"""
import re
import sys


def marked(script):
    """What stands around the figures of a script, and these."""
    return re.compile(rf"(<!-- figures: scripts/(?:[a-z]+/)?{re.escape(script)} -->\n)(.*?)(<!-- end of figures -->)", re.S)


def put(script, figures, document):
    with open(document) as file:
        text = file.read()
    text, found = marked(script).subn(lambda m: m[1] + figures.strip() + "\n" + m[3], text)
    if found != 1:
        sys.exit(f"{document} has {found} sections for the figures of scripts/{script}, not 1")
    with open(document, "w") as file:
        file.write(text)


def section(script, document):
    """Lines of the figures of a script in a document."""
    with open(document) as file:
        found = marked(script).search(file.read())
    return found[2].splitlines() if found else sys.exit(f"{document} has no figures of scripts/{script}")


def cells(line):
    """Cells of a line of a table."""
    return [cell.strip() for cell in line.strip("|").split("|")]


if __name__ == "__main__":
    script, path, *documents = sys.argv[1:]
    with open(path) as file:
        figures = file.read()
    for document in documents:
        put(script, figures, document)
