"""Names of a binary: as the linker makes them."""

import subprocess

import pytest

from apps.errors import KernelError
from apps.programs.libraries import dynamic_names, needed_names


def test_names_are_those_that_the_source_defines_and_asks_for(tmp_path):
    source = tmp_path / "one.c"
    source.write_text("double floor(double);\nint ours = 3;\ndouble half(double x) { return floor(x) / 2; }\n")
    binary = tmp_path / "libone.so"
    command = ["gcc", "-O0", "-fno-builtin", "-shared", "-fPIC", "-Wl,--no-as-needed", "-o", binary, source, "-lm"]
    subprocess.run(command, check=True)
    names = dynamic_names(binary)
    assert {"ours", "half"} <= names.defined and "floor" not in names.defined
    assert "floor" in names.undefined and "half" not in names.undefined
    assert names.needed == {"libm.so.6", "libc.so.6"} == needed_names(binary)


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"#!/bin/sh\n", "it is no 64-bit ELF file"), (b"\x7fELF\x02\x01" + b"\0" * 20, "it is cut off or damaged")],
)
def test_what_is_no_binary_is_refused_in_one_line(tmp_path, content, said):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(KernelError, match=f"x: cannot be read: {said}"):
        needed_names(tmp_path / "x")
