"""seqtune inside Kernel Tuner (https://github.com/KernelTuner/kernel_tuner): predicted configs first, its own strategies then.

>>> from kernel_tuner import tune_kernel                                                        # doctest: +SKIP
>>> from seqtune.kernel_tuner import Strategy                                                   # doctest: +SKIP
>>> tune_kernel("gemm", "gemm.cl", (300, 200), arguments, tune_params, lang="OpenCL",
...             strategy=Strategy("model", kernel="./gemm", problem="M=300,N=200,K=100"))       # doctest: +SKIP
"""

from seqtune.kernel_tuner.describe import Described, describe, describe_caches
from seqtune.kernel_tuner.replay import replay
from seqtune.kernel_tuner.restrictions import translated
from seqtune.kernel_tuner.strategy import Strategy

__all__ = ["Described", "Strategy", "describe", "describe_caches", "replay", "translated"]
