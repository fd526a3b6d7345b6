"""What the scripts that print figures of sweeps share."""

import csv
import math
import subprocess
import tempfile


def geometric(values):
    """Geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def exported(program, path):
    """Rows of `export csv` of a dataset."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "export", "csv", path, "-o", f"{folder}/sweep.csv"], check=True, stdout=subprocess.DEVNULL)
        with open(f"{folder}/sweep.csv") as file:
            return list(csv.DictReader(file))
