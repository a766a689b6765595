"""Test the structure of the code: packages, rooms and their public faces, imports, and calls among C files."""

import ast
import functools
import graphlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from platforms.simgrid.compiling import compile_once

ROOT = Path(__file__).parents[1]
PACKAGES = ("platforms", "apps", "predictor", "validation")
ROOMS = sorted(path.parent for package in PACKAGES for path in (ROOT / package).glob("*/__init__.py"))
pytestmark = pytest.mark.checkout
KERNELS = sorted(path.parent for path in (ROOT / "apps" / "kernels").glob("*/kernel.toml"))
HARNESS = ROOT / "apps" / "kernels" / "harness"
COMMON = ROOT / "apps" / "common"
RECORDER = ROOT / "apps" / "recording" / "recorder"
NATIVE = sorted((ROOT / "predictor").glob("*/native"))  # C files of a room of the predictor
HEADERS = sorted(path for package in ("apps", "predictor") for path in (ROOT / package).rglob("*.h"))
MOST_OTHER_FILES = 6  # of a package, beside its rooms and commands


def room_name(path):
    return path.relative_to(ROOT).as_posix()


def is_command(path):
    return path.suffix == ".py" and re.search("^COMMAND = ", path.read_text("utf-8"), re.MULTILINE) is not None


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_holds_rooms_and_commands_and_few_other_files(package):
    files = [path for path in (ROOT / package).iterdir() if path.is_file()]
    names = {path.name for path in files if not is_command(path)} - {"__init__.py", "py.typed"}
    assert len(names) <= MOST_OTHER_FILES, sorted(names)


def docstring(room):
    return ast.get_docstring(ast.parse((room / "__init__.py").read_text())) or ""


@pytest.mark.parametrize("room", ROOMS, ids=room_name)
def test_a_room_says_in_one_sentence_what_it_is_for(room, draw_rooms):
    paragraph = " ".join(docstring(room).partition("\n\n")[0].split())
    assert paragraph.endswith(".")
    assert draw_rooms.first_sentence(docstring(room)) == paragraph


def names_in(path):
    """Return the names that a module defines or imports at its top level."""
    found, body = set(), ast.parse(path.read_text()).body
    for node in [*body, *(inner for part in body if isinstance(part, ast.If) for inner in part.body)]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and path.name == "__init__.py":
            # A room that imports its names when they are used (PEP 562) imports them here for the checker of types.
            found |= {alias.name for part in node.body for alias in part.names}
    return found


def exists(folder, name):
    """Return whether ``module`` or ``module.attribute`` exists in a package's folder; a module may be a package."""
    first, dot, rest = name.partition(".")
    if (folder / first).is_dir():
        return not dot or exists(folder / first, rest)
    if (folder / f"{first}.py").exists():
        return not dot or rest in names_in(folder / f"{first}.py")
    return not dot and first in names_in(folder / "__init__.py")


@pytest.mark.parametrize("room", ROOMS, ids=room_name)
def test_the_public_faces_of_a_room_exist(room):
    _, found, listed = docstring(room).partition("Public faces:")
    faces = re.findall(r"``([\w.]+)``", listed.partition("\n\n")[0])
    assert found and faces
    assert [name for name in faces if not exists(room, name)] == []


def test_a_face_that_does_not_exist_would_be_found():
    assert exists(ROOT / "apps" / "runs", "engines.ENGINES") and exists(ROOT / "apps" / "store", "Store")
    assert not exists(ROOT / "apps" / "runs", "engines.NONE") and not exists(ROOT / "apps" / "store", "None")


@pytest.fixture(scope="module")
def draw_rooms():
    """Return the script that draws the picture, as a module."""
    pytest.importorskip("grimp")
    spec = importlib.util.spec_from_file_location("draw_rooms", ROOT / "docs" / "draw_rooms.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_and_the_tables_of_the_rooms_are_current(draw_rooms):
    modules = draw_rooms.imports()
    remedy = "run python docs/draw_rooms.py"
    assert draw_rooms.PICTURE.read_text() == draw_rooms.drawing(modules), remedy
    page = draw_rooms.PAGE.read_text()
    assert page == draw_rooms.with_tables(page, modules), remedy


def test_a_sentence_ends_where_its_period_is_no_initials(draw_rooms):
    assert (
        draw_rooms.first_sentence("The model of K.-C. Li.  It adds up\nsegments.\n\nMore.") == "The model of K.-C. Li."
    )
    assert draw_rooms.first_sentence("Look at ``a.b`` of MPI.  More.") == "Look at ``a.b`` of MPI."


def test_imports_go_one_way():
    script = Path(sys.executable).parent / "lint-imports"
    if not script.exists():
        pytest.skip("import-linter is not installed")
    done = subprocess.run([script, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@functools.cache
def symbols(source):
    """Compile a C file to an object; return the names that it defines for other files, and those that it lacks."""
    target = compile_once(
        f"{source.stem}-object", [source], compiler=["smpicc"], flags=["-c", "-std=gnu11", "-fPIC"], headers=HEADERS
    )
    listed = subprocess.run(["nm", "-g", "-P", str(target)], capture_output=True, text=True, check=True).stdout
    pairs = [line.split()[:2] for line in listed.splitlines()]
    lacks = {name for name, kind in pairs if kind in "Uvw"}
    return {name for name, _ in pairs} - lacks, lacks


def circle_among(sources):
    """Return C files that use each other in a circle, each a function or variable of the next, or None."""
    home = {name: source for source in sources for name in symbols(source)[0]}
    uses = {source: {home[name] for name in symbols(source)[1] if name in home} for source in sources}
    try:
        graphlib.TopologicalSorter(uses).prepare()
    except graphlib.CycleError as err:
        return [room_name(source) for source in err.args[1]]
    return None


@pytest.mark.parametrize("folder", [COMMON, HARNESS, RECORDER, *KERNELS, *NATIVE], ids=room_name)
def test_no_c_files_use_each_other_in_a_circle(folder):
    alone = {COMMON: [], **{native: [] for native in NATIVE}}
    below = {**alone, RECORDER: [COMMON], HARNESS: [COMMON]}.get(folder, [HARNESS, COMMON])
    sources = [source for part in (folder, *below) for source in sorted(part.glob("*.c"))]
    assert circle_among(sources) is None


def test_a_circle_of_c_files_would_be_found(tmp_path, monkeypatch):
    (tmp_path / "a.c").write_text("int b(void);\nint a(void) { return b(); }\n")
    (tmp_path / "b.c").write_text("int a(void);\nint b(void) { return a(); }\n")
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    assert circle_among([tmp_path / "a.c", tmp_path / "b.c"]) is not None


def late_imports(source):
    """The runs of imports inside functions of a source, as (first line, text with the line above it)."""
    lines, found = source.splitlines(), []

    def visit(node, *, inside):
        for name in ("body", "orelse", "finalbody", "handlers"):
            previous = None
            for child in getattr(node, name, []) or []:
                is_import = isinstance(child, ast.Import | ast.ImportFrom)
                if inside and is_import and not isinstance(previous, ast.Import | ast.ImportFrom):
                    found.append((child.lineno, "\n".join(lines[child.lineno - 2 : child.end_lineno])))
                previous = child
                if isinstance(child, ast.AST):
                    visit(child, inside=inside or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))

    visit(ast.parse(source), inside=False)
    return found


def test_an_import_inside_a_function_says_why():
    silent = [
        f"{path.relative_to(ROOT)}:{line}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for line, text in late_imports(path.read_text("utf-8"))
        if "#" not in text
    ]
    assert silent == []


NOT_ROOMS = {  # folders of tests that belong to several rooms, or hold data
    "tests/platforms/data", "tests/apps/data", "tests/predictor/data",
}  # fmt: skip


def test_folders_of_tests_have_the_names_of_rooms():
    folders = [
        folder
        for package in PACKAGES
        for folder in sorted((ROOT / "tests" / package).iterdir())
        if folder.is_dir() and any("__pycache__" not in path.parts for path in folder.rglob("*.*"))
    ]
    rooms = [ROOT / folder.relative_to(ROOT / "tests") for folder in folders]
    strange = [
        folder
        for folder, room in zip(folders, rooms, strict=True)
        if not (room / "__init__.py").exists() and not room.with_suffix(".py").exists()
    ]
    assert {str(folder.relative_to(ROOT)) for folder in strange} == NOT_ROOMS
