"""What can go wrong: one class for each kind, each with a sentence that says what is wrong, where, and what to do."""


class Error(Exception):
    """Of all errors of this package the base."""


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
