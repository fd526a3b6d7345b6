"""Cache files of Kernel Tuner's, as it leaves them: also without the brackets at their end, where a run was stopped."""

from __future__ import annotations

import json
import os
from typing import Any

from seqtune.errors import FileError, InputError

#: What a cache file is known by.
KEYS = {"tune_params_keys", "tune_params", "kernel_name", "device_name", "cache"}


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a cache file."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read().strip()
    except OSError as error:
        raise FileError(f"{os.fspath(path)}: {error.strerror}") from None
    except UnicodeDecodeError:
        text = ""
    for whole in (text, text.rstrip(",") + "}}"):
        try:
            found = json.loads(whole)
        except ValueError:
            continue
        if isinstance(found, dict) and KEYS <= set(found) and isinstance(found["cache"], dict):
            return found
    raise InputError(f"{os.fspath(path)} is no cache file of Kernel Tuner's, which has {', '.join(sorted(KEYS))}")
