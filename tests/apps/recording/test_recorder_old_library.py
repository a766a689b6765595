"""The recorder compiles with an older C library too, whose headers declare more of what it stands in for."""

import subprocess
from pathlib import Path

from apps.recording import recorder
from platforms.simgrid.installed import find_program

# As in sys/stat.h of glibc 2.31, that of Debian 11, for which the wheel is compiled.
DECLARED = """
#define _GNU_SOURCE
#include <sys/stat.h>
extern int __xstat (int __ver, const char *__filename, struct stat *__stat_buf);
extern int __lxstat (int __ver, const char *__filename, struct stat *__stat_buf);
extern int __fxstatat (int __ver, int __fildes, const char *__filename, struct stat *__stat_buf, int __flag);
extern int __xstat64 (int __ver, const char *__filename, struct stat64 *__stat_buf);
extern int __lxstat64 (int __ver, const char *__filename, struct stat64 *__stat_buf);
extern int __fxstatat64 (int __ver, int __fildes, const char *__filename, struct stat64 *__stat_buf, int __flag);
"""


def test_what_asks_about_files_has_the_types_that_glibc_2_31_declares(tmp_path):
    (tmp_path / "declared.h").write_text(DECLARED)
    source = Path(recorder.__file__).parent / "own" / "metadata.c"
    words = [find_program("smpicc"), "-c", "-fsyntax-only", "-include", tmp_path / "declared.h", source]
    assert subprocess.run(words, capture_output=True, text=True, check=False).stderr == ""
