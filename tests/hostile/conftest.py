"""The readers that are tested with hostile input are in the folder ``readers``, which the fuzzer uses too."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
