"""The readers under attack are a folder beside this one, shared with the fuzzer."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
