#!/usr/bin/env bash
# SGLang finds no table of tuned configs under the name that vLLM gives it.
#
# Versions    sglang 0.5.9 and vllm 0.33.0 from PyPI, their wheels alone
# Behaviour   Both engines name a table of a block-scaled kernel after its shape, GPU, data type and block. vLLM writes the block as [128,128],
#             SGLang as Python shows a list: [128, 128]. Each looks for its own spelling only, so that a table taken over from the other is
#             ignored, with the warning of a table that is missing.
# One would   guess that one file serves both, since the layout, the rows and the rest of the name are the same and one was adapted from the other.
# Seen        vLLM's spelling: found by vllm, not by sglang; SGLang's spelling: found by sglang, not by vllm
# Remedy      write the name once for each engine.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$work" sglang==0.5.9 vllm==0.33.0
cd "$work"
"$work/venv/bin/python" - <<'PY'
import ast, functools, glob, json, os, types, zipfile

FILES = {"vllm": "vllm/model_executor/layers/fused_moe/fused_moe.py", "sglang": "sglang/srt/layers/moe/fused_moe_triton/fused_moe_triton_config.py"}

class Quiet:
    def __getattr__(self, name):
        return lambda *args, **kwargs: None

def reader(engine, folder):
    """The engine's own two functions, with stand-ins for what they import."""
    wheel = glob.glob(f"{engine}-*.whl")[0]
    tree = ast.parse(zipfile.ZipFile(wheel).read(FILES[engine]))
    tree.body = [node for node in tree.body if getattr(node, "name", "") in ("get_config_file_name", "get_moe_configs")]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
    os.environ["SGLANG_MOE_CONFIG_DIR"] = folder
    space = {
        "functools": functools, "json": json, "os": os, "logger": Quiet(), "triton": types.SimpleNamespace(__version__="3.4.0"),
        "get_device_name": lambda: "NVIDIA H200", "get_device_name_as_file_name": lambda: "NVIDIA_H200", "__file__": "none",
        "envs": types.SimpleNamespace(VLLM_BATCH_INVARIANT=False, VLLM_TUNED_CONFIG_FOLDER=folder + "/configs/triton_3_4_0"),
        "get_global_server_args": lambda: types.SimpleNamespace(enable_deterministic_inference=False),
    }
    exec(ast.unparse(tree), space)
    return space["get_moe_configs"]

seen = {}
for spelling, block in (("vLLM's", "[128,128]"), ("SGLang's", "[128, 128]")):
    folder = os.path.abspath(spelling)
    os.makedirs(folder + "/configs/triton_3_4_0")
    with open(f"{folder}/configs/triton_3_4_0/E=7,N=777,device_name=NVIDIA_H200,dtype=fp8_w8a8,block_shape={block}.json", "w") as file:
        json.dump({"1": {"num_warps": 4}}, file)
    for engine in FILES:
        found = reader(engine, folder)(7, 777, "fp8_w8a8", 128, 128) is not None
        seen[spelling, engine] = found
        print(f"{spelling} spelling: {'found' if found else 'not found'} by {engine}")
assert [seen[key] for key in seen] == [True, False, False, True], "the behaviour changed"
PY
