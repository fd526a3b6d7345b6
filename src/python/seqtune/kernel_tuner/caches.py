"""Cache files of Kernel Tuner's, as it leaves them: also cut off in their last entry, where a run was stopped, and compressed."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
from typing import Any

from seqtune.errors import FileError, InputError

#: What a cache file is known by.
KEYS = {"tune_params_keys", "tune_params", "kernel_name", "device_name", "cache"}

#: First bytes of compressed files, and what reads them.
PACKED = {b"\x1f\x8b": gzip, b"BZh": bz2, b"\xfd7zXZ\x00": lzma}

#: First bytes of compressed files that are not read, and what they are.
ARCHIVES = {b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd"}

#: Bytes of a file at most, unpacked.
MOST = 2 << 30


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a cache file. An entry that is cut off at its end is left out."""
    place = os.fspath(path)
    text = _text(place).strip()
    for whole in (text, text.rstrip(",") + "}}", _without_last(text)):
        try:
            found = json.loads(whole)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and KEYS <= set(found):
            return _checked(found, place)
    raise InputError(f"{place} is no cache file of Kernel Tuner's, which has {', '.join(sorted(KEYS))}")


def _text(place: str) -> str:
    try:
        with open(place, "rb") as file:
            magic = file.read(6)
        packed: Any = next((module for start, module in PACKED.items() if magic.startswith(start)), None)
        with packed.open(place) if packed else open(place, "rb") as file:
            data: bytes = file.read(MOST + 1)
    except EOFError:
        raise InputError(f"{place}: its packed data are cut off; fetch it again") from None
    except (OSError, lzma.LZMAError) as error:
        # damaged packed data are an error without a number
        reason = error.strerror if isinstance(error, OSError) else None
        raise (FileError if reason else InputError)(f"{place}: {reason or error}") from None
    kind = next((kind for start, kind in ARCHIVES.items() if data.startswith(start)), None)
    if kind:
        raise InputError(f"{place}: is a {kind} archive; unpack it first")
    if len(data) > MOST:
        raise InputError(f"{place}: has more than {MOST >> 30} GB, which is no cache file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return ""


def _without_last(text: str) -> str:
    """The text up to its last whole entry, closed as a whole cache is."""
    end = text.rfind("},")
    return text[: end + 1] + "}}" if end >= 0 else ""


def _checked(found: dict[str, Any], place: str) -> dict[str, Any]:
    """Refuses a file whose parts are not what they are called."""
    names, values, entries = found["tune_params_keys"], found["tune_params"], found["cache"]
    if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
        raise InputError(f"{place} is no cache file of Kernel Tuner's, which has {', '.join(sorted(KEYS))}: its `cache` holds no entries")
    if not (isinstance(names, list) and names and all(isinstance(name, str) for name in names)):
        raise InputError(f"{place}: its tune_params_keys are no list of names")
    if not (isinstance(values, dict) and all(isinstance(some, list) and some for some in values.values()) and set(values) == set(names)):
        raise InputError(f"{place}: its tune_params are no lists of values of {', '.join(names)}")
    for key in ("kernel_name", "device_name"):
        if not isinstance(found[key], str):
            raise InputError(f"{place}: its {key} is no text")
    return found
