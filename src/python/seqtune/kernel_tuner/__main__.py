"""``python -m seqtune.kernel_tuner``."""

import sys

from seqtune.errors import Error
from seqtune.kernel_tuner.describe import main

try:
    sys.exit(main(sys.argv[1:]))
except Error as error:
    sys.exit(f"seqtune: {error}")
