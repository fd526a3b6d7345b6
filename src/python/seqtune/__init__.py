"""Predicts the tuning parameters of GPU kernels.

>>> import seqtune
>>> predictor = seqtune.Predictor(seqtune.shipped("gemm-cpu"), device="epyc")
>>> best = predictor.predict("M=300,N=200,K=100")[0]
>>> best.config in seqtune.Space(predictor.kernel, "M=300,N=200,K=100", predictor.device)
True
"""

from typing import Literal

from seqtune._seqtune import Device, Kernel, Model, Pick, Prediction, Space, __version__
from seqtune.certifying import Certificate, certify
from seqtune.chooser import Chooser, ConfigStanding, Standing
from seqtune.errors import (
    ConfigError,
    DeviceNotFoundError,
    Error,
    FailedError,
    FileError,
    InputError,
    KernelError,
    KernelNotFoundError,
    MismatchError,
    ModelError,
    NoLegalConfigError,
    ProblemError,
    UnavailableError,
    UnseenDeviceWarning,
)
from seqtune.predictor import Predictor
from seqtune.sweeping import Invalid, Sweep, sweep

__all__ = [
    "Certificate",
    "Chooser",
    "ConfigError",
    "ConfigStanding",
    "Device",
    "DeviceNotFoundError",
    "Error",
    "FailedError",
    "FileError",
    "InputError",
    "Invalid",
    "Kernel",
    "KernelError",
    "KernelNotFoundError",
    "MismatchError",
    "Model",
    "ModelError",
    "NoLegalConfigError",
    "Pick",
    "Prediction",
    "Predictor",
    "ProblemError",
    "Space",
    "Standing",
    "Sweep",
    "UnavailableError",
    "UnseenDeviceWarning",
    "__version__",
    "certify",
    "shipped",
    "sweep",
]


def shipped(name: str = "gemm-cpu", quality: Literal["auto", "best", "fast"] = "auto") -> Model:
    """The model that ships with the package: ``gemm-cpu``, a matrix product on CPUs.

    >>> shipped("gemm-cpu").kernels
    ['gemm']
    >>> shipped("gemm-cpu").is_distilled, shipped("gemm-cpu", quality="best").is_distilled
    (True, False)
    """
    return Model.load_shipped(name, quality)
