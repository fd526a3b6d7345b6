#!/usr/bin/env python3
"""Writes figures into documents, between the line `<!-- figures: scripts/SCRIPT -->` and the end marker.

usage: scripts/put_figures.py SCRIPT FIGURES DOCUMENT...
"""
import re
import sys

script, figures, *documents = sys.argv[1:]
with open(figures) as file:
    figures = file.read().strip()
marked = re.compile(rf"(<!-- figures: scripts/{re.escape(script)} -->\n).*?(<!-- end of figures -->)", re.S)
for path in documents:
    with open(path) as file:
        text = file.read()
    text, found = marked.subn(lambda m: m.group(1) + figures + "\n" + m.group(2), text)
    if found != 1:
        sys.exit(f"{path} has {found} sections for the figures of scripts/{script}, not 1")
    with open(path, "w") as file:
        file.write(text)
