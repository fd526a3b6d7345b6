"""``python -m seqtune.kernel_tuner``."""

import sys

from seqtune.errors import Error, FailedError, UnavailableError
from seqtune.kernel_tuner.describe import main

try:
    sys.exit(main(sys.argv[1:]))
except Error as error:
    print(f"seqtune: {error}", file=sys.stderr)
    # as the command line: 1 the run failed, 2 wrong input, 3 what is needed is not here
    sys.exit(1 if isinstance(error, FailedError) else 3 if isinstance(error, UnavailableError) else 2)
