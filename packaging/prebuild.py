"""Compile the project's own programs for the wheel: kernels, recorder, probes and evaluators.

    python packaging/prebuild.py SITE [ROOT]

SITE holds the unpacked wheel gridval-simgrid; the executables come into SITE/own/_compiled, under names that do not
depend on the compiler (platforms/simgrid/compiling.py).  With ROOT, the Debian 11 of packaging/simgrid/build.sh, they
are compiled in it, so that they run with glibc 2.31; that needs root.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMPILERS = ("gcc", "g++", "cc", "c++")


def make_compilers(folder: Path, root: Path | None) -> None:
    """Write scripts named as the compilers, which work in the root if there is one.

    What they link finds SimGrid's library relative to its own place in the wheel: gridval/_compiled/NAME.
    """
    for name in COMPILERS:
        place = f'chroot "{root}" /usr/bin/env -C "$PWD" PATH=/usr/bin:/bin' if root else "env PATH=/usr/bin:/bin"
        script = (HERE / "compiler.sh").read_text("utf-8").replace("@PLACE@", place).replace("@NAME@", name)
        script = script.replace("@TOP@", str(HERE.parent))
        (folder / name).write_text(script, "utf-8")
        (folder / name).chmod(0o755)


def commands() -> list[list[str]]:
    """Return what makes the programs that are compiled on the way: the main job and its relatives."""
    python = [sys.executable, "-P", "-m"]
    small = ["--scenario", "grid4x2", "--class", "S", "--no-store"]
    return [
        [*python, "gridval", "run", *small],
    ]


def compile_known() -> None:
    """Compile what has a function of its own."""
    # Imported here, because this runs in a process of its own, with the compilers of make_compilers.
    from apps.programs.compile import kernel_program
    from apps.programs.kernel import kernel_names, named_kernel
    from apps.programs.watched.builds import watching_library
    from apps.smpi.memorybus.library import bus_library
    from platforms.simgrid.repairs import repairs_library
    from predictor.prepare import prepare

    prepare()
    repairs_library()
    bus_library()
    watching_library()
    for name in kernel_names():
        kernel_program(named_kernel(name))


def main(words: list[str]) -> int:
    """Compile everything; print the number of executables."""
    site = Path(words[0]).resolve()
    root = Path(words[1]).resolve() if len(words) > 1 else None
    made = site / "own" / "_compiled"
    made.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        tools = Path(name) / "tools"
        tools.mkdir()
        make_compilers(tools, root)
        environment = {
            **os.environ,
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(site),
            "GRID_VALIDATOR_CACHE": str(Path(name) / "cache"),
            "GRIDVAL_COMPILED": str(made),
        }
        ask = f"import sys; sys.path.insert(0, {str(HERE)!r}); import prebuild; prebuild.compile_known()"
        for command in [[sys.executable, "-P", "-c", ask], *commands()]:
            done = subprocess.run(command, env=environment, cwd=name, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                print(f"error: prebuild: {' '.join(command)}: {done.stderr.strip()}", file=sys.stderr)
                return 1
    print(f"{sum(1 for path in made.iterdir() if os.access(path, os.X_OK))} programs are compiled in {made}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
