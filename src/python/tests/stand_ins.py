"""Stand-ins of Triton's, PyTorch's and Helion's modules: as much as this package calls, with the names and signatures of theirs.

The real packages are met by scripts/integrations/triton.sh, scripts/integrations/inductor.sh and scripts/integrations/helion.sh.
"""

import contextlib
import sys
from types import ModuleType, SimpleNamespace
from unittest import mock


def module(name, **members):
    made = ModuleType(name)
    vars(made).update(members)
    return made


@contextlib.contextmanager
def installed(modules):
    """The modules can be imported within, and not behind."""
    with mock.patch.dict(sys.modules, {made.__name__: made for made in modules}):
        yield


def prediction(config, unsure=False, probability=0.5):
    return SimpleNamespace(config=dict(config), unsure=unsure, probability=probability)


class Predictor:
    """Answers with a fixed list."""

    def __init__(self, answers, kernel=None):
        self.answers, self.kernel, self.asked = answers, kernel, []

    def predict(self, problem, top=5, width=20, **goal):
        self.asked.append(problem)
        self.goal = goal
        return self.answers[:top]


class Config:
    """Triton's."""

    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None):
        self.kwargs, self.num_warps, self.num_stages, self.num_ctas, self.maxnreg = (
            kwargs, num_warps, num_stages, num_ctas, maxnreg,
        )  # fmt: skip

    def __eq__(self, other):
        return vars(self) == vars(other)

    def __hash__(self):
        return hash(str(vars(self)))


def triton(measures_one):
    """Triton, whose autotuner measures an only config (before 3.8) or does not."""

    class Autotuner:
        def __init__(self, fn, arg_names, configs, key, reset_to_zero, restore_value, prune_configs_by=None, do_bench=None, cache_results=False):
            self.fn, self.arg_names, self.configs, self.keys = fn, arg_names, configs, key
            self.prune, self.do_bench, self.cache_results, self.cache = prune_configs_by["early_config_prune"], do_bench, cache_results, {}
            self.kept = []

        def prune_configs(self, kwargs):
            return self.prune(self.configs, self.nargs, **kwargs)

        def _bench(self, *args, config, **meta):
            return self.do_bench(lambda: None, quantiles=(0.5, 0.2, 0.8))

        def run(self, *args, **kwargs):
            self.nargs = dict(zip(self.arg_names, args))
            key = tuple(self.nargs[name] for name in self.keys)
            if key not in self.cache:
                few = self.prune_configs(kwargs)
                if len(few) == 1 and not measures_one:
                    self.cache[key] = few[0]
                else:
                    times = {config: self._bench(*args, config=config, **kwargs) for config in few}
                    self.cache[key] = min(times, key=times.get)
                    if self.cache_results:
                        self.kept.append(times)
            self.best_config = self.cache[key]

    runtime = module("triton.runtime.autotuner", Autotuner=Autotuner)
    return [module("triton", Config=Config), module("triton.runtime"), runtime]


def torch(registers):
    """PyTorch Inductor: of 2.15, which registers handlers, or of 2.11."""

    class Handler:
        pass

    class LookupTableChoices(Handler):
        table = {}

        def lookup_template_configs(self, kernel_inputs, op_name, template_uids, template_hash_map=None):
            return self.table.get(op_name, {})

    config = module("torch._inductor.config", inductor_choices_class=None)
    handlers = []
    virtualized = module("torch._inductor.virtualized", V=SimpleNamespace(set_choices_handler=handlers.append, handlers=handlers))
    choices = module("torch._inductor.choices", InductorChoices=Handler, registered={})
    if registers:
        choices.register_inductor_choices = choices.registered.__setitem__
        choices.unregister_inductor_choices = choices.registered.__delitem__
    backends = SimpleNamespace(cuda=SimpleNamespace(matmul=SimpleNamespace(fp32_precision="ieee")))
    cuda = SimpleNamespace(get_device_properties=lambda device: SimpleNamespace(name="NVIDIA A100-SXM4-40GB"))
    return [
        module("torch", backends=backends, cuda=cuda),
        module("torch._inductor"),
        choices,
        config,
        virtualized,
        module("torch._inductor.lookup_table"),
        module("torch._inductor.lookup_table.choices", LookupTableChoices=LookupTableChoices),
    ]


class Inputs:
    """Inductor's description of a product."""

    def __init__(self, m, n, k, dtypes=("torch.float16",) * 2, strides=None, device_type="cuda", out=None, symbol=None):
        self._sizes, self._dtypes, self.device_type = (m, n, k), dtypes, device_type
        self._strides, self._out, self._symbol = strides or ((k, 1), (n, 1)), out or dtypes[0], symbol

    def strides_hinted(self):
        return self._strides

    def dtype(self, at=0):
        return self._dtypes[at]

    def out_dtype(self):
        return self._out

    def mnk_hinted(self):
        return self._sizes

    def mnk_symbolic(self):
        return (*self._sizes[:2], self._symbol or self._sizes[2])

    def device(self):
        return "cuda:0"


def helion():
    """Helion's registry of backends, and what it writes into their functions."""

    class HeuristicBackend:
        pass

    class HeuristicBackendResult(SimpleNamespace):
        def __init__(self, generated_code, model_accuracy, feature_names):
            super().__init__(generated_code=generated_code, model_accuracy=model_accuracy, feature_names=feature_names)

    backends = {}

    def extraction(names):
        places = {"m": "args[0]", "k": "args[1]", "n": "args[2]"}
        return "\n".join(f"    _{name} = {places[name]}" for name in names) or "    # nothing is needed"

    generator = module(
        "helion.autotuner.heuristic_generator",
        HeuristicBackend=HeuristicBackend,
        HeuristicBackendResult=HeuristicBackendResult,
        backends=backends,
        register_backend=backends.__setitem__,
        feature_to_var_name=lambda name: f"_{name}",
        generate_feature_extraction_code=extraction,
        generate_configs_code=lambda configs: "\n".join(f"        {dict(config)!r}," for config in configs),
    )
    return [module("helion"), module("helion.autotuner"), generator]
