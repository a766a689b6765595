"""The files that a compiler reads for a source: the source and all its includes, listed by the compiler."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from platforms.errors import UserError
from platforms.files.caching import cache_folder, read_checked, write_checked
from platforms.files.scratch import scratch_folder
from platforms.simgrid.compiling import (
    COMPILER_VARIABLES,
    check_passable,
    compiler_stamps,
    failed,
    file_name,
    find_compiler,
    fingerprint,
    is_system,
    real_compiler,
    run_compiler,
)
from platforms.simgrid.installed import simgrid_version

_NAMED = re.compile(
    rb"(?:#\s*include|__has_include)\s*\(?\s*[\"<]([^\">\n]+)[\">]|^\s*include\s+['\"]([^'\"\n]+)", re.M
)
_COMPUTED = re.compile(rb"#\s*include(?:_next)?\s+[A-Za-z_]")  # the name comes from a macro
_VERSION = 2  # of the list's contents
_FOLDER_FLAG = re.compile(r"^-(?:I|isystem|iquote|idirafter)\n?(/.*)$", re.M)
LOCAL = Path("/usr/local/include")  # headers that no package has put there
_FOLDERS = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")  # where the compiler looks besides


def included_files(source: Path, *, compiler: str, flags: Sequence[str] = ()) -> dict[Path, str]:
    """Return the fingerprints of all files that the compiler reads for a source, the source first.

    The list is kept in the cache folder, beside the compiled programs.  It is made again when one of its files has
    changed, or when a file has appeared that an ``#include`` could mean instead.

    Args:
        source: The source file.
        compiler: Name of the compiler: smpicc, smpicxx or smpif90.
        flags: Its flags.

    Raises:
        UserError: The compiler is missing, or it cannot preprocess the source.
    """
    source = source.absolute()
    program = find_compiler(compiler)
    decides = [
        _VERSION,
        str(source),
        *compiler_stamps(program),
        *flags,
        *(os.environ.get(name) for name in COMPILER_VARIABLES),
    ]
    key = hashlib.sha256(repr((decides, simgrid_version())).encode()).hexdigest()[:24]
    path = cache_folder() / "compiled" / f"{file_name(source.stem)}-{key}.includes"
    kept = _kept(path)
    if kept is not None:
        return kept
    names = _listed(source, program, flags)
    files = {name: fingerprint(name) for name in names}
    contents = {name: name.read_bytes() for name in names if not is_system(name)}
    if not any(_COMPUTED.search(content) for content in contents.values()):
        data = {"files": {str(name): mark for name, mark in files.items()}, "absent": _instead(contents, flags, names)}
        write_checked(path, json.dumps(data).encode())
    return files


def _kept(path: Path) -> dict[Path, str] | None:
    """Return the kept list if it is whole and still holds, else None."""
    content = read_checked(path)
    if content is None:
        return None
    try:
        data: Any = json.loads(content)
        files = {Path(name): str(mark) for name, mark in data["files"].items()}
        holds = all(fingerprint(name) == mark for name, mark in files.items())
        absent = not any(os.path.lexists(name) for name in data["absent"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return files if holds and absent else None


def _instead(contents: Mapping[Path, bytes], flags: Sequence[str], listed: Iterable[Path]) -> list[str]:
    """Return the files that do not exist, and that the includes in these files would mean if they did.

    ``listed`` are all files that the compiler reads, those of packages too, before which it looks in LOCAL.
    """
    folders = {LOCAL: None, **dict.fromkeys(path.parent for path in contents)}
    folders.update(dict.fromkeys(Path(match[1]) for match in _FOLDER_FLAG.finditer("\n".join(flags))))
    for variable in _FOLDERS:
        folders.update(dict.fromkeys(Path(part) for part in os.environ.get(variable, "").split(os.pathsep) if part))
    names = {os.fsdecode(match[1] or match[2]) for content in contents.values() for match in _NAMED.finditer(content)}
    wanted = [str(folder / name) for folder in folders for name in sorted(names)]
    for path in listed:
        _, inside, name = str(path).partition("/include/")
        if inside and is_system(path):  # also below a folder of the processor's, such as x86_64-linux-gnu
            wanted += (str(LOCAL / part) for part in (name, name.partition("/")[2]) if part)
    return [name for name in wanted if not os.path.lexists(name)]


def _listed(source: Path, program: Path, flags: Sequence[str]) -> list[Path]:
    """Ask the compiler (-M).

    smpif90 adds an output file, which does not go with -M: the compiler behind it is asked with the same folders.
    Module files that the source itself makes are left out.
    """
    check_passable(program.name, [source])
    command = [str(program), *flags, "-M", "-MT", "listed", str(source)]
    if program.name == "smpif90":
        include = program.resolve().parent.parent / "include"
        folders = [f"-I{include}", f"-I{include / 'smpi'}"]
        command = [str(real_compiler(program)), *flags, *folders, "-cpp", "-M", str(source)]  # it ignores -MT
    with scratch_folder("including") as work:
        done = run_compiler(source.stem, command, work, errors="surrogateescape")
        if done.returncode != 0:
            raise failed(source.stem, done, command, cache_folder() / "compiled" / f"{file_name(source.stem)}.log")
        target = ": " if program.name == "smpif90" else "listed: "
        _, found_it, listed = done.stdout.replace("\\\n", " ").partition(target)
        if not found_it:
            raise UserError(f"compiling {source.stem}", "the compiler does not list its files", "Rename the source")
        files = [Path(os.path.join(work, name)) for name in _words(listed)]
        found_names = [name for name in files if work not in name.parents]
    return list(dict.fromkeys([source, *found_names]))


def _words(listed: str) -> list[str]:
    """Split a list of files as make does."""
    words = shlex.shlex(listed.replace("$$", "$"), posix=True)
    words.whitespace_split, words.commenters, words.quotes = True, "", ""
    return list(words)
