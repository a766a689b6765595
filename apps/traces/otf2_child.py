"""Reader of an OTF2 archive for another process: python -m apps.traces.otf2_child ARCHIVE RESULT NAME."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from apps.errors import TraceError
from apps.traces.otf2_archive import read_archive

if TYPE_CHECKING:
    from apps.traces.events import Trace


def main() -> None:
    """Read an archive and write its trace, or the error, to a file."""
    archive, result, shown = sys.argv[1:]
    trace: Trace | TraceError
    try:
        trace = read_archive(Path(archive), f"--recording {shown}")
    except TraceError as err:
        trace = err
    with Path(result).open("wb") as file:
        pickle.dump(trace, file, protocol=pickle.HIGHEST_PROTOCOL)


if __name__ == "__main__":
    main()
