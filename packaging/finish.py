"""Give the project's wheel its compiled programs, the requirement of SimGrid's wheel, and the tag of the platform.

python packaging/finish.py WHEEL COMPILED SIMGRID_WHEEL DIST
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def finish(wheel: Path, compiled: Path, simgrid: Path, dist: Path) -> Path:
    """Write the finished wheel to ``dist``; the programs serve the very SimGrid for which they were compiled."""
    _, version, python, abi, tag = simgrid.name.removesuffix(".whl").split("-")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _wheel("unpack", "--dest", name, str(wheel))
        (tree,) = (path for path in folder.iterdir() if path.is_dir())
        (tree / "gridval" / "_compiled").mkdir()
        for program in sorted(path for path in compiled.iterdir() if os.access(path, os.X_OK)):
            shutil.copy2(program, tree / "gridval" / "_compiled")
        (info,) = tree.glob("*.dist-info")
        metadata = (info / "METADATA").read_text("utf-8")
        head, rest = metadata.split("\nRequires-Dist: ", 1)
        (info / "METADATA").write_text(
            f"{head}\nRequires-Dist: gridval-simgrid=={version}\nRequires-Dist: {rest}", "utf-8"
        )
        said = (info / "WHEEL").read_text("utf-8").replace("Root-Is-Purelib: true", "Root-Is-Purelib: false")
        lines = [line for line in said.splitlines() if line and not line.startswith("Tag:")]
        (info / "WHEEL").write_text("\n".join([*lines, f"Tag: {python}-{abi}-{tag}", ""]), "utf-8")
        _wheel("pack", "--dest-dir", str(dist), str(tree))
    return dist / f"{wheel.name.split('-py3-')[0]}-{python}-{abi}-{tag}.whl"


def _wheel(*words: str) -> None:
    done = subprocess.run([sys.executable, "-m", "wheel", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"error: finish: wheel {words[0]}: {done.stderr.strip()}")


if __name__ == "__main__":
    print(finish(*map(Path, sys.argv[1:5])))
