"""A file with a program in Python: what can be checked without running it, and what belongs to it."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

from apps.errors import KernelError

SUFFIX = ".py"
_HERE = Path(__file__).parent


def check_program(path: Path) -> None:
    """Raises KernelError for a file that is not Python, or has no ``main``."""
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except SyntaxError as err:
        raise KernelError(f"{path}:{err.lineno}", f"not Python: {err.msg}", "Mend it") from err
    except ValueError as err:  # null bytes
        raise KernelError(str(path), f"not Python: {err}", "Give the source of a program") from err
    except (RecursionError, MemoryError):
        raise KernelError(str(path), "not Python: nested too deep", "Give the source of a program") from None
    remedy = "Define main(rank), as docs/programs/s4u.md says"
    if "main" not in _defined(tree):
        raise KernelError(str(path), "it has no function main", remedy)
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "main":
            taken = [*statement.args.posonlyargs, *statement.args.args]
            needed = len(taken) - len(statement.args.defaults)
            if needed > 1 or not (taken or statement.args.vararg):
                raise KernelError(f"{path}:{statement.lineno}", "main does not take one argument", remedy)


def content_hash(path: Path) -> str:
    """Of the file, and of the modules beside it that it imports, and they in turn."""
    digest = hashlib.sha256()
    for source in _sources(path.absolute()):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()


@cache
def layer_hash() -> str:
    """Of everything here: the ranks and the kernels that use them."""
    digest = hashlib.sha256()
    for source in sorted(_HERE.glob("*.py")):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()


def _defined(tree: ast.Module) -> set[str]:
    """Names that the statements at the top bind."""
    names = set()
    for statement in tree.body:
        match statement:
            case ast.FunctionDef(name=name):
                names.add(name)
            case ast.Import(names=imported) | ast.ImportFrom(names=imported):
                names |= {one.asname or one.name for one in imported}
            case ast.Assign(targets=targets):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def _sources(path: Path) -> list[Path]:
    """The file first; then every module of its folder that any of them imports, in the order of their names."""
    found, open_ends = {path}, [path]
    while open_ends:
        try:
            tree = ast.parse(open_ends.pop().read_bytes())
        except (
            SyntaxError,
            ValueError,
            RecursionError,
            MemoryError,
        ):  # what it imports is not known; running it will tell
            continue
        for module in _imported(tree):
            beside = path.parent / f"{module}{SUFFIX}"
            if beside not in found and beside.is_file():
                found.add(beside)
                open_ends.append(beside)
    return [path, *sorted(found - {path})]


def _imported(tree: ast.Module) -> set[str]:
    """First parts of the names of all modules that are imported somewhere."""
    names = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=imported):
                names |= {one.name.partition(".")[0] for one in imported}
            case ast.ImportFrom(module=str(name), level=0):
                names.add(name.partition(".")[0])
    return names
