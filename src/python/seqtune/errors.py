"""What can go wrong: one class for each kind, each with a sentence that says what is wrong, where, and what to do."""

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


#: Characters of a sentence at most, and of a value in it.
SENTENCE, VALUE = 800, 100


def shown(value: object, most: int = VALUE) -> str:
    """What a sentence says of a value: its ``repr`` in one line of at most ``most`` characters, whatever the value's class makes of that.

    >>> shown("9" * 5000, 20), shown("\\x1b[2J")
    ("'999999999999999999…", "'\\\\x1b[2J'")
    """
    try:
        text = repr(value)
    except Exception:  # a class of somebody else's, or a number of more digits than Python writes
        text = f"<{type(value).__name__}>"
    return _plain(text if len(text) <= most else text[: most - 1] + "…")


def said(error: BaseException) -> str:
    """What an exception says, with its class; it may be of a class whose ``str`` raises.

    >>> said(ValueError("no"))
    'ValueError: no'
    """
    try:
        text = str(error)
    except Exception:
        text = "its message cannot be shown"
    return _plain(f"{type(error).__name__}: {text[:SENTENCE]}")


def read_as(make: Callable[[Any], T], value: Any, what: str) -> T:
    """``make(value)``; what a value's own methods raise there is wrong input, but for the error of a wrong type.

    >>> read_as(dict, "M", "is no dict")
    Traceback (most recent call last):
    ...
    seqtune.errors.InputError: 'M' is no dict: ValueError: dictionary update sequence element #0 has length 1; 2 is required
    """
    try:
        return make(value)
    except (TypeError, Error):
        raise
    except Exception as error:
        raise InputError(f"{shown(value)} {what}: {said(error)}") from None


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] if c != "\\" else c for c in text)


class Error(Exception):
    """Of all errors of this package the base. Its message is one line, which is cut in its middle where it is too long."""

    def __init__(self, sentence: str = "") -> None:
        text = _plain(sentence)
        if len(text) > SENTENCE:
            text = f"{text[: SENTENCE // 2]} […] {text[-SENTENCE // 3 :]}"
        super().__init__(text)


class KernelNotFoundError(Error, LookupError):
    """No kernel has this name, and no folder of it is there."""


class KernelError(Error, ValueError):
    """A ``kernel.toml``, or what it names, cannot be used."""


class DeviceNotFoundError(Error, LookupError):
    """No device is described by this name, and no file of it is there."""


class ProblemError(Error, ValueError):
    """A problem is not one of the kernel's: a field is missing, unknown or out of its range, or a rule is broken."""


class ConfigError(Error, ValueError):
    """A config is not one of the kernel's: a parameter is missing or unknown, or has another value."""


class NoLegalConfigError(Error):
    """No config is legal for a problem on a device."""


class ModelError(Error):
    """A model's file is damaged, truncated, or of another format."""


class MismatchError(Error):
    """A model was made for another kernel, another version of it, or another objective."""


class FileError(Error, OSError):
    """A file is missing, or is another kind of thing."""


class InputError(Error, ValueError):
    """Something else that was written or named is wrong."""


class UnavailableError(Error):
    """What is needed is not on this machine: a device, a driver, a library."""


class FailedError(Error, RuntimeError):
    """The machine failed in the middle: disk, process, device."""


class UnseenDeviceWarning(UserWarning):
    """The model was not trained on the device: its configs are legal there, its ranking is a guess."""
