"""Checks that kernels/triton/fused_moe/measure.py calls functions that the installed vLLM has, by arguments that they take; nothing is launched.

measure_moe_check.py PACKAGES
"""

import ast
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "kernels/triton/fused_moe/measure.py"
FOLDER = "vllm/model_executor/layers/fused_moe"
#: What the program calls, by the attribute that holds it: the file, and the function; None where the attribute called names it.
HELD = {"experts": ("fused_moe.py", "fused_experts"), "override": ("__init__.py", "override_config"), "quantization": ("config.py", None)}


def held(call: ast.Call) -> tuple[str, str] | None:
    """The file and the function of vLLM that a call is of."""
    target, name = call.func, None
    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Attribute):
        target, name = target.value, target.attr
    if not (isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self" and target.attr in HELD):
        return None
    file, function = HELD[target.attr]
    return file, function or name


def main() -> int:
    packages = Path(sys.argv[1]) / FOLDER
    calls = [node for node in ast.walk(ast.parse(PROGRAM.read_text())) if isinstance(node, ast.Call)]
    checked = 0
    for call, (file, function) in ((call, held(call)) for call in calls if held(call)):
        defined = [node for node in ast.parse((packages / file).read_text()).body if isinstance(node, ast.FunctionDef) and node.name == function]
        if not defined:
            sys.exit(f"{file} of vLLM has no function {function}")
        taken = defined[0].args
        names = [argument.arg for argument in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)]
        unknown = [word.arg for word in call.keywords if word.arg not in names]
        given = set(names[: len(call.args)]) | {word.arg for word in call.keywords}
        missing = set(names[: len(taken.args) - len(taken.defaults)]) - given
        if unknown or missing:
            sys.exit(f"{function} of vLLM: it does not take {unknown}, or needs {sorted(missing)}")
        print(f"{function}({', '.join(names[: len(call.args)] + [word.arg for word in call.keywords])}): taken by vLLM")
        checked += 1
    return 0 if checked else 1


if __name__ == "__main__":
    sys.exit(main())
