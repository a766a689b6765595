"""What a build opens decides the program: it is compiled again when any of it changes or appears."""

import os
import subprocess

import pytest

from apps.programs.watched.builds import WatchedBuild, opened_by_build
from platforms.simgrid.compiling import compile_once

SOURCE = """
#include <stdio.h>
#if __has_include(<extra.h>)
#include <extra.h>
#else
#define EXTRA 0
#endif
extern int linked(void), object(void);
__asm__(".globl blob\\nblob: .incbin \\"{folder}/blob\\"\\n");
extern const char blob[];
int main(void) {{ printf("%d %d %d %c %d\\n", linked(), object(), OPTION, blob[0], EXTRA); }}
"""


def write(folder, name, text):
    (folder / name).write_text(text)


def archive(folder, value):
    write(folder, "linked.c", f"int linked(void) {{ return {value}; }}")
    subprocess.run(["gcc", "-c", "linked.c", "-o", "linked.o"], cwd=folder, check=True)
    (folder / "liblinked.a").unlink(missing_ok=True)
    subprocess.run(["ar", "rcs", "liblinked.a", "linked.o"], cwd=folder, check=True)


def made_object(folder, value):
    write(folder, "object.c", f"int object(void) {{ return {value}; }}")
    subprocess.run(["gcc", "-c", "object.c", "-o", "object.o"], cwd=folder, check=True)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "include").mkdir()
    archive(tmp_path, 1)
    made_object(tmp_path, 1)
    write(tmp_path, "options", "-DOPTION=1")
    write(tmp_path, "blob", "a")
    write(tmp_path, "main.c", SOURCE.format(folder=tmp_path))
    return tmp_path


def built(folder):
    flags = [f"@{folder}/options", f"-I{folder}/include", f"-L{folder}"]
    return compile_once(
        "watched", [folder / "main.c"], compiler=["gcc"], flags=flags, libraries=[f"{folder}/object.o", "-llinked"],
        included={}, folder=folder / "made", watch=WatchedBuild({folder / "main.c"}),
    )  # fmt: skip


def said(program):
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout.strip()


CHANGES = {
    "a static library": (lambda folder: archive(folder, 2), "2 1 1 a 0"),
    "an object file": (lambda folder: made_object(folder, 2), "1 2 1 a 0"),
    "a file of options": (lambda folder: write(folder, "options", "-DOPTION=2"), "1 1 2 a 0"),
    "what the assembler includes": (lambda folder: write(folder, "blob", "b"), "1 1 1 b 0"),
    "a header that appears": (lambda folder: write(folder, "include/extra.h", "#define EXTRA 2\n"), "1 1 1 a 2"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_program_is_built_anew_after_a_change_of(what, folder):
    change, expected = CHANGES[what]
    assert said(built(folder)) == "1 1 1 a 0"
    change(folder)
    assert said(built(folder)) == expected


def test_the_list_has_what_was_opened_and_what_was_absent_but_no_files_of_packages_and_not_the_source(folder):
    files = opened_by_build(built(folder))
    names = {os.path.relpath(name, folder): state for name, state in files.items() if name.startswith(f"{folder}/")}
    assert {"options", "blob", "object.o", "liblinked.a", "include/extra.h"} <= names.keys()
    assert names["include/extra.h"] == "missing" and "main.c" not in names
    of_packages = [name for name in files if name.startswith("/usr/") and not name.startswith("/usr/local/")]
    assert all(name.endswith(".a") for name in of_packages)


def test_a_program_that_was_built_elsewhere_has_no_list(tmp_path):
    assert opened_by_build(tmp_path / "program") == {}
