"""Pack a built SimGrid, or the distribution's, as the wheel gridval-simgrid, whose prefix is found at run time.

    python packaging/simgrid/pack.py BUILD DIST       what build.sh has made, in the folder that it prints
    python packaging/simgrid/pack.py --system DIST    a copy of the installed SimGrid, for this distribution only

The scripts of SMPI find their folder when they run; smpicc and smpicxx take the system's compiler, else the one of
PyPI's package ziglang in the same environment.  Needs patchelf and strip.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAME, PACKAGE = "gridval-simgrid", "gridval_simgrid"
SCRIPTS = ("smpirun", "smpicc", "smpicxx", "smpif90", "smpiff")
HEADERS = ("simgrid", "smpi", "xbt")
BUILT_AS = Path("/build/prefix")  # inside the Debian 11 of build.sh
OLD_GLIBC = "manylinux_2_31"  # that of Debian 11, in which build.sh compiles
# Libraries that every Linux has; wheels may rely on them (PEP 600).
_EVERYWHERE = ("libc", "libm", "libdl", "librt", "libpthread", "libstdc++", "libgcc_s", "ld-linux", "linux-vdso")
_COMPILERS = {"CC": ("cc", "zig-cc"), "CXX": ("c++", "zig-c++"), "REAL_FORTRAN_COMPILER": ("gfortran", "no-gfortran")}
# Searched after all other folders: a Boost of the system, or of the user's, comes before ours.
_AFTER = '"-idirafter" "${SIMGRID_PREFIX}/include/after"'
_FIND_PREFIX = 'SIMGRID_PREFIX=$(dirname "$(dirname "$(readlink -f "$0")")")\n'


def stage_build(build: Path, tree: Path) -> tuple[str, str]:
    """Copy what build.sh has made to a wheel's tree; return SimGrid's version and the wheel's platform tag."""
    prefix = build / "prefix"
    package = _copy(prefix, tree, libraries=prefix / "lib", named=BUILT_AS)
    _boost(package, build.parent)
    for module in (build / "python").glob("simgrid.cpython-*.so"):
        _module(module, tree)
    (archive,) = build.glob("simgrid-*.tar.gz")
    (package / "source").mkdir()
    shutil.copy2(archive, package / "source")
    source = build / archive.name.removesuffix(".tar.gz")
    for path in (
        *(source / name for name in ("COPYING", "LICENSE-LGPL-2.1")),
        *(HERE / name for name in ("gfortran.patch", "build.sh", "pack.py")),
        *(HERE.parents[1] / "tests" / "simgrid4" / name for name in ("faster.cmake", "requirements.txt")),
    ):
        shutil.copy2(path, package / "source")
    said = f"source/{archive.name} is its source, as released; gfortran.patch was applied, build.sh built it."
    _notice(package, said)
    return _version(package), f"{OLD_GLIBC}_{platform.machine()}"


def stage_system(tree: Path) -> tuple[str, str]:
    """Copy the distribution's SimGrid to a wheel's tree; return its version and the wheel's platform tag."""
    smpirun = shutil.which("smpirun")
    if smpirun is None or not os.path.realpath(smpirun).startswith("/usr/bin/"):
        raise SystemExit("error: pack: the distribution has no SimGrid. Run: apt-get install libsimgrid-dev")
    libraries = Path("/usr/lib") / (sysconfig.get_config_var("MULTIARCH") or f"{platform.machine()}-linux-gnu")
    package = _copy(Path("/usr"), tree, libraries=libraries, named=Path("/usr"))
    _boost(package, Path("/"))
    for module in Path("/usr/lib/python3/dist-packages").glob("simgrid.cpython-*.so"):
        _module(module, tree)
    _bundle(package)
    _notice(package, "It is a copy of the distribution's package; `apt-get source simgrid` gives its source.")
    return _version(package), f"linux_{platform.machine()}"


def _copy(prefix: Path, tree: Path, *, libraries: Path, named: Path) -> Path:
    """Copy SimGrid's files from their prefix, which its scripts call ``named``."""
    package = tree / PACKAGE
    for folder in ("bin", "lib/simgrid", "include", "libexec"):
        (package / folder).mkdir(parents=True)
    (library,) = libraries.glob("libsimgrid.so.*.*")
    for name in SCRIPTS:
        script = (prefix / "bin" / name).read_text("utf-8")
        script = relocatable(script, named, named / libraries.relative_to(prefix))
        if name in ("smpicc", "smpicxx"):
            script = script.replace("list_set INCLUDEARGS ", f"list_set INCLUDEARGS {_AFTER} ")
        script = script.replace(
            '"-lsimgrid"', f'"${{SIMGRID_PREFIX}}/lib/{library.name}"'
        )  # ziglang reads no INPUT(...)
        _write(package / "bin" / name, script, executable=True)
    for name in HEADERS:
        shutil.copytree(prefix / "include" / name, package / "include" / name)
    _binary(library, package / "lib" / library.name, "$ORIGIN")
    _write(package / "lib" / "libsimgrid.so", f"INPUT({library.name})\n")  # wheels have no symbolic links
    for name in ("smpimain", "smpireplaymain"):
        _binary(libraries / "simgrid" / name, package / "lib" / "simgrid" / name, "$ORIGIN/..")
    for path in (HERE / "libexec").iterdir():
        _write(package / "libexec" / path.name, path.read_text("utf-8"), executable=True)
    shutil.copy2(HERE / "package.py", package / "__init__.py")
    return package


def relocatable(script: str, prefix: Path, libraries: Path) -> str:
    """Return a script of SMPI with its own folder in place of the prefix, and a choice of compilers."""
    first, rest = script.split("\n", 1)
    rest = re.sub(r"^(\s*)/\S*python3?\S* -c", r"\1python3 -c", rest, flags=re.MULTILINE)
    for path, place in ((libraries, "lib"), (prefix / "include", "include"), (prefix / "bin", "bin")):
        rest = rest.replace(str(path), "${SIMGRID_PREFIX}/" + place)
    rest = re.sub(r"^export LD_LIBRARY_PATH=.*\n", "", rest, count=1, flags=re.MULTILINE)  # RUNPATH serves
    rest = rest.replace('"-L${SIMGRID_PREFIX}/lib"', '"-L${SIMGRID_PREFIX}/lib" "-Wl,-rpath,${SIMGRID_PREFIX}/lib"')
    for variable, (command, instead) in _COMPILERS.items():
        otherwise = f'"${{SIMGRID_PREFIX}}/libexec/{instead}"'
        chosen = f"{variable}={command}\ncommand -v {command} >/dev/null 2>&1 || {variable}={otherwise}"
        rest = re.sub(rf"^{variable}=\S+$", lambda _, chosen=chosen: chosen, rest, count=1, flags=re.MULTILINE)
    left = re.search(r"/(?:usr|build)/(?!bin/env )\S*(?:bin|lib|include)\S*", rest)
    if left and "simgrid.dll" not in left[0]:
        raise SystemExit(f"error: pack: a script still names {left[0]}")
    return f"{first}\n{_FIND_PREFIX}{rest}"


def _boost(package: Path, root: Path) -> None:
    """Copy the headers of Boost that SimGrid's include, from a Debian's folder."""
    include, target = package / "include", package / "include" / "after"
    including = [path for path in sorted(include.rglob("*.h*")) if "#include <boost/" in path.read_text("utf-8")]
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "boost").symlink_to(root / "usr" / "include" / "boost")
        all_of_them = Path(name) / "all.cpp"
        all_of_them.write_text("".join(f'#include "{path}"\n' for path in including))
        said = _run("c++", "-std=c++17", "-M", f"-I{include}", f"-I{name}", str(all_of_them))
        headers = {word for word in said.split() if word.startswith(f"{name}/boost/")}
        # Those for other compilers are chosen when they are read.
        headers |= {str(path) for path in Path(name, "boost", "config").rglob("*.hpp")}
        for header in sorted(headers):
            place = target / Path(header).relative_to(name)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(header, place)
    (notice,) = (root / "usr" / "share" / "doc").glob("libboost1*-dev/copyright")
    shutil.copyfile(notice, target / "boost" / "copyright")


def _module(module: Path, tree: Path) -> None:
    _binary(module, tree / module.name, f"$ORIGIN/{PACKAGE}/lib")


def _binary(source: Path, target: Path, run_path: str) -> None:
    """Copy a binary without its symbols for debugging, with a search path for its libraries relative to itself."""
    shutil.copyfile(source.resolve(), target)
    target.chmod(0o755)
    _run("strip", "--strip-unneeded", str(target))
    _run("patchelf", "--set-rpath", run_path, str(target))
    for name in _needed(target):
        if name.startswith("libgfortran") and not _uses(target, "_gfortran_"):
            _run("patchelf", "--remove-needed", name, str(target))  # SimGrid's build names it without using it


def _bundle(package: Path) -> None:
    """Copy the libraries that not every Linux has beside SimGrid's."""
    folder = package / "lib"
    waiting = sorted(folder.glob("*.so.*"))
    while waiting:
        for line in _run("ldd", str(waiting.pop())).splitlines():
            name, _, path = line.strip().partition(" => ")
            path = path.partition(" (")[0]
            if (
                not path.startswith("/")
                or name.split(".so")[0].split("-x86")[0] in _EVERYWHERE
                or (folder / name).exists()
            ):
                continue
            _binary(Path(path), folder / name, "$ORIGIN")
            waiting.append(folder / name)


def _needed(binary: Path) -> list[str]:
    return _run("patchelf", "--print-needed", str(binary)).split()


def _uses(binary: Path, beginning: str) -> bool:
    said = _run("nm", "--dynamic", "--undefined-only", str(binary))
    return any(word.startswith(beginning) for word in said.split())


def _version(package: Path) -> str:
    return _run(str(package / "bin" / "smpirun"), "-version").split()[-1]


def _notice(package: Path, said: str) -> None:
    _write(
        package / "NOTICE",
        "This folder holds SimGrid (https://simgrid.org), copyright (c) 2004-2025 the SimGrid team, under the GNU\n"
        "Lesser General Public License, version 2.1.  Its scripts smpirun, smpicc, smpicxx, smpif90 and smpiff were\n"
        f"changed to find their folder when they run, and to choose a compiler.  {said}\n"
        "include/after/boost holds the headers of Boost (https://www.boost.org) that SimGrid's include, unchanged;\n"
        "their licence is in include/after/boost/copyright.\n",
    )


def _write(path: Path, content: str, *, executable: bool = False) -> None:
    path.write_text(content, "utf-8")
    path.chmod(0o755 if executable else 0o644)


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"error: pack: {' '.join(command)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def write_wheel(tree: Path, folder: Path, *, version: str, tag: str) -> Path:
    """Write the wheel of a tree, with the permissions of its files; the same tree gives the same bytes."""
    info = tree / f"{PACKAGE}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.4\nName: {NAME}\nVersion: {version}\n"
        "Summary: SimGrid with SMPI, relocatable, for gridval\n"
        "License-Expression: LGPL-2.1-only\nRequires-Python: >=3.11\n"
        "Provides-Extra: zig\nRequires-Dist: ziglang>=0.13; extra == 'zig'\n"
    )
    (info / "WHEEL").write_text(
        f"Wheel-Version: 1.0\nGenerator: packaging/simgrid/pack.py\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n"
    )
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{PACKAGE}-{version}-py3-none-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        record = "".join(_add(archive, path, path.relative_to(tree).as_posix()) for path in _files(tree))
        record_name = f"{info.name}/RECORD"
        archive.writestr(_entry(record_name, 0o644), f"{record}{record_name},,\n", zipfile.ZIP_DEFLATED)
    return wheel


def _files(tree: Path) -> Iterator[Path]:
    yield from (path for path in sorted(tree.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)


def _add(archive: zipfile.ZipFile, path: Path, name: str) -> str:
    content = path.read_bytes()
    archive.writestr(_entry(name, path.stat().st_mode & 0o777), content, zipfile.ZIP_DEFLATED)
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def _entry(name: str, mode: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)  # of 1980: the same tree gives the same wheel
    entry.external_attr = (0o100000 | mode) << 16
    return entry


def main() -> int:
    """Write the wheel and print its path."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=Path, metavar="BUILD", help="folder that build.sh printed")
    parser.add_argument("dist", type=Path, metavar="DIST", help="folder of the wheel")
    parser.add_argument("--system", action="store_true", help="pack the distribution's SimGrid")
    given = parser.parse_args()
    if given.system == (given.build is not None):
        parser.error("give either BUILD or --system")
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name)
        version, tag = stage_system(tree) if given.system else stage_build(given.build, tree)
        print(write_wheel(tree, given.dist, version=version, tag=tag))
    return 0


if __name__ == "__main__":
    sys.exit(main())
