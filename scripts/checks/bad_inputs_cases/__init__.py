"""The bad and extreme inputs of scripts/checks/bad_inputs.py, by class. Each is of a kind; what is given is made here, of small files."""

from .case import PROGRAM, Unmade
from .endless import children, endless
from .files import others_files
from .kernels import checks
from .kinds import others_kinds, others_merged
from .names import names
from .others import others_parts, others_values
from .sizes import sizes
from .texts import texts


def cases(root):
    """All inputs."""
    toy = root / "src/predict/toy"
    for part in (texts, sizes, checks, names, others_files, children, endless, others_values, others_merged, others_parts, others_kinds):
        yield from part(toy)
