"""Files with a program in Python: their checks before a run, and hashes of all that determines what they do."""

from __future__ import annotations

import ast
import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from apps.errors import KernelError

SUFFIX = ".py"
_SPAWNS = ("Spawn", "Spawn_multiple")  # of mpi4py's communicators


def uses_mpi4py(path: Path) -> bool:
    """Return whether a program, or a module that it imports from its own folder, imports mpi4py.

    Raises:
        KernelError: The file is not Python, or starts further processes (``Spawn``), which nothing here can follow.
    """
    _parsed(path)
    trees = [(source, tree) for source, tree in _trees(path) if _imports(tree, "mpi4py")]
    for source, tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SPAWNS:
                problem = f"{node.func.attr} starts further processes, which cannot be recorded"
                raise KernelError(f"{source}:{node.lineno}", problem, "Start all ranks at the beginning")
    return bool(trees)


def check_program(path: Path) -> None:
    """Check a program for S4U without running it.

    Raises:
        KernelError: The file is not Python, or has no function ``main`` of one argument.
    """
    tree = _parsed(path)
    remedy = "Define main(rank), as docs/programs/native.md says, or import mpi4py (docs/programs/native.md)"
    if "main" not in _defined(tree):
        raise KernelError(str(path), "it has no function main, and does not import mpi4py", remedy)
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "main":
            taken = [*statement.args.posonlyargs, *statement.args.args]
            needed = len(taken) - len(statement.args.defaults)
            if needed > 1 or not (taken or statement.args.vararg):
                raise KernelError(f"{path}:{statement.lineno}", "main does not take one argument", remedy)


def _parsed(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_bytes(), str(path))
    except SyntaxError as err:
        raise KernelError(f"{path}:{err.lineno}", f"not Python: {err.msg}", "Correct it") from err
    except ValueError as err:  # null bytes
        raise KernelError(str(path), f"not Python: {err}", "Give the source of a program") from err
    except (RecursionError, MemoryError):
        raise KernelError(str(path), "not Python: nested too deeply", "Give the source of a program") from None


def _trees(path: Path) -> Iterator[tuple[Path, ast.Module]]:
    """Yield the program and the modules that it imports from its own folder, as far as they are Python."""
    for source in _sources(path.absolute()):
        if source.suffix == SUFFIX:
            with suppress(SyntaxError, ValueError, RecursionError, MemoryError):  # the run will report the error
                yield source, ast.parse(source.read_bytes())


def _imports(tree: ast.Module, package: str) -> bool:
    """Return whether an import anywhere in a module names a package or a part of it."""
    names: list[str] = []
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=imported):
                names += [alias.name for alias in imported]
            case ast.ImportFrom(module=name, level=0):
                names.append(name or "")
    return any(name.partition(".")[0] == package for name in names)


def content_hash(path: Path) -> str:
    """Return a hash of the file and of all modules that it imports from its folder, directly or indirectly.

    The folder counts too, because a program may read files from there, and so do the environment variables that they
    read: Python copies all of them when it starts, so that no run shows which.
    """
    path = path.absolute()
    digest = hashlib.sha256(os.fsencode(path.parent) + b"\0")
    for source in _sources(path):
        content = source.read_bytes()
        digest.update(os.fsencode(source) + b"\0" + str(len(content)).encode() + b"\0" + content)
    for name in _environment_names(path):
        digest.update(repr((name, os.environ.get(name))).encode())
    return digest.hexdigest()


def _environment_names(path: Path) -> list[str]:
    """Return the names of the environment variables that a program may read: all if one of its reads names none."""
    names: set[str] = set()
    for _, tree in _trees(path):
        nodes = list(ast.walk(tree))
        environments = {id(node) for node in nodes if _is_environment(node)}
        for node in nodes:
            match node:
                case ast.Subscript(value=of, slice=key) if _is_environment(of):
                    environments.discard(id(of))
                case ast.Call(func=ast.Attribute(value=of, attr="get"), args=[key, *_]) if _is_environment(of):
                    environments.discard(id(of))
                case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()], comparators=[of]) if _is_environment(of):
                    environments.discard(id(of))
                case ast.Call(func=ast.Attribute(attr="getenv") | ast.Name(id="getenv"), args=[key, *_]):
                    pass
                case _:
                    continue
            if not isinstance(key, ast.Constant):
                return sorted(os.environ)
            names.add(str(key.value))
        if environments:  # the whole of it is handed on
            return sorted(os.environ)
    return sorted(names)


def _is_environment(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr="environ") | ast.Name(id="environ"):
            return True
    return False


def _defined(tree: ast.Module) -> set[str]:
    """Return the names that statements at the top level bind."""
    names = set()
    for statement in tree.body:
        match statement:
            case ast.FunctionDef(name=name):
                names.add(name)
            case ast.Import(names=imported) | ast.ImportFrom(names=imported):
                names |= {alias.asname or alias.name for alias in imported}
            case ast.Assign(targets=targets):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def _sources(path: Path) -> list[Path]:
    """Return the file, then all files of modules and packages in its folder that it imports, ordered by name."""
    sources, open_ends = {path}, [path]
    while open_ends:
        source = open_ends.pop()
        if source.suffix != SUFFIX:  # compiled
            continue
        try:
            tree = ast.parse(source.read_bytes())
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # the run will report the error
            continue
        for module in _imported(tree, source, path.parent):
            new = set(_files_of(module)) - sources
            sources |= new
            open_ends += new
    return [path, *sorted(sources - {path})]


def _files_of(module: Path) -> list[Path]:
    """Return the files that Python may load for a module or package, given its path without an ending."""
    if not module.name.isidentifier():
        return []
    files = [module.with_name(f"{module.name}{SUFFIX}"), module / f"__init__{SUFFIX}"]
    files += [module.with_name(f"{module.name}{ending}") for ending in EXTENSION_SUFFIXES]
    return [file for file in files if file.is_file()]


def _imported(tree: ast.Module, source: Path, root: Path) -> set[Path]:
    """Return the paths, without endings, of all modules and packages that a file may import from the root folder."""
    modules = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=imported):
                for statement in imported:
                    modules |= _each_part(root, statement.name)
            case ast.ImportFrom(module=name, names=imported, level=level):
                base = root if level == 0 else source.parents[min(level, len(source.parents)) - 1]
                modules |= _each_part(base, name or "")
                package = base.joinpath(*(name or "").split("."))
                for statement in imported:
                    if statement.name == "*":
                        modules |= {package / file.name.partition(".")[0] for file in package.glob("*")}
                    else:
                        modules.add(package / statement.name)
                if level > 0:
                    modules.add(base)
    return modules


def _each_part(base: Path, name: str) -> set[Path]:
    """Return the packages that lead to a module, and the module: all of them are loaded."""
    parts = name.split(".") if name else []
    return {base.joinpath(*parts[: length + 1]) for length in range(len(parts))}
