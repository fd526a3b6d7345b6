#!/usr/bin/env python3
"""Writes the instance tables of MIOpen's Composable Kernel solvers, kernels/miopen/SOLVER/instances.tsv.

An instance is there where a performance database of text form has it; it serves the data types that it has it for.

usage: scripts/data/miopen_instances.py DATABASE.db.txt[.bz2]...
"""
import bz2
import collections
import pathlib
import re
import sys

KERNELS = pathlib.Path(__file__).parents[2] / "kernels" / "miopen"
SPECIAL = {"Default": 0, "Filter1x1Pad0": 1, "Filter1x1Stride1Pad0": 2, "OddC": 3, "Filter3x3": 4}
SCHEDULER = {"Intrawave": 1, "Interwave": 2}

# by family: its number, and the columns of what its name states in order; what is constant in all instances is left out
FORWARD = {
    "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3": (
        0, "BS MB NB KB SPEC XM XN MX NX AV BV CV SM SN SCHED VER"),
    "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle": (1, "BS MB NB KB SPEC XM XN MX NX AV BV CV SM SN MERGE"),
    "DeviceGroupedConvFwdMultipleD_Xdl_CShuffle_Large_Tensor": (2, "BS MB NB KB SPEC XM XN MX NX AV BV CV SM SN"),
}
BACKWARD = {
    "DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1": (0, "BS MB NB - - BK SPEC - - MX NX AV BV - -"),
}
WEIGHTS = {
    "DeviceGroupedConvBwdWeight_Xdl_CShuffle": (0, "BS MB NB - SPEC K1 MX NX AV AD BV BD - - CV"),
    "DeviceGroupedConvBwdWeightTwoStage_Xdl_CShuffle": (
        1, "BS MB NB - SPEC K1 MX NX AV AD BV BD - - CV - VER MERGE"),
}
PLAIN_FORWARD = {
    "DeviceConv2dFwdXdl_Input_N_Hi_Wi_C_Weight_K_Y_X_C_Output_N_Ho_Wo_K": (
        0, "BS MB NB K0 SPEC K1 - - MX NX AV AD BV BD"),
    "DeviceConv2dFwdXdl_C_Shuffle_Input_N_Hi_Wi_C_Weight_K_Y_X_C_Output_N_Ho_Wo_K": (
        1, "BS MB NB K0 SPEC K1 MX NX AV AD BV BD - - CV"),
}
PLAIN_BACKWARD = {
    "DeviceConvNdBwdDataNwcKxcNwk_Xdl": (0, "BS MB NB - K1 MX NX AV AD BV BD"),
    "DeviceConv2dBwdDataXdl_Input_N_Hi_Wi_C_Weight_K_Y_X_C_Output_N_Ho_Wo_K": (1, "BS MB NB - K1 MX NX AV AD BV BD"),
}
SOLVERS = {
    "ConvHipImplicitGemmGroupFwdXdlops": FORWARD,
    "ConvHipImplicitGemm3DGroupFwdXdlops": FORWARD,
    "ConvHipImplicitGemmGroupBwdXdlops": BACKWARD,
    "ConvHipImplicitGemm3DGroupBwdXdlops": BACKWARD,
    "ConvHipImplicitGemmGroupWrwXdlops": WEIGHTS,
    "ConvHipImplicitGemm3DGroupWrwXdlops": WEIGHTS,
    "ConvHipImplicitGemmFwdXdlops": PLAIN_FORWARD,
    "ConvHipImplicitGemmBwdXdlops": PLAIN_BACKWARD,
}


def number(word):
    """A field of a name as a number."""
    for words in (SPECIAL, SCHEDULER):
        if word.split(": ")[-1] in words:
            return words[word.split(": ")[-1]]
    return int(word.removeprefix("BlkGemmPipelineVersion: v"))


def parameters(families):
    names = ["FAMILY"]
    for _, columns in families.values():
        names += [name for name in columns.split() if name != "-" and name not in names]
    return names + (["SPEC"] if "SPEC" not in names else [])


def values(name, families):
    """The parameters of an instance by its name; 0 for those that its family lacks."""
    family, rest = name.split("<", 1)
    inside, behind = rest.rsplit(">", 1)
    at, columns = families[family.strip()]
    words = inside.split(", ")
    if len(words) != len(columns.split()):
        sys.exit(f"miopen_instances.py: {name} has {len(words)} fields, not {len(columns.split())}")
    found = dict.fromkeys(parameters(families), 0)
    found["FAMILY"] = at
    found |= {column: number(word) for column, word in zip(columns.split(), words) if column != "-"}
    if behind.strip():
        found["SPEC"] = SPECIAL[behind.strip()]
    return found


def main(paths):
    seen = collections.defaultdict(lambda: collections.defaultdict(set))
    for path in paths:
        with (bz2.open if path.endswith(".bz2") else open)(path, "rt") as lines:
            for line in lines:
                key, _, entries = line.rstrip("\n").partition("=")
                dtype = re.split("x", key)[-2]
                for entry in entries.split(";"):
                    solver, _, params = entry.partition(":")
                    if solver in SOLVERS:
                        seen[solver][re.sub(r"\+\d+$", "", params)].add(dtype)
    order = ["FP32", "FP16", "BF16", "INT8"]
    for solver, instances in sorted(seen.items()):
        families = SOLVERS[solver]
        names = parameters(families)
        rows = [(list(values(name, families).values()), name, dtypes) for name, dtypes in instances.items()]
        rows.sort(key=lambda row: row[0])
        text = "\t".join(["name", "dtype", *names]) + "\n"
        for row, name, dtypes in rows:
            text += "\t".join([name, " ".join(sorted(dtypes, key=order.index)), *map(str, row)]) + "\n"
        (KERNELS / solver).mkdir(exist_ok=True)
        (KERNELS / solver / "instances.tsv").write_text(text)
        print(f"{solver}: {len(rows)} instances")
        for at, name in enumerate(names):
            print(f"    {name} {sorted({row[at] for row, _, _ in rows})}")


if not sys.argv[1:]:
    sys.exit(__doc__)
main(sys.argv[1:])
