"""Names of things that are not files of the right kind give one line and status 2, soon and with little memory."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from readers.common import ROOT, fenced

import platforms.files.reading
from platforms.files.reading import input_bytes, input_text

EXAMPLES = ROOT / "examples"
# Every option and argument that names a file: the command, its arguments with {} for the name, and the name's ending.
COMMANDS = [
    ("platforms.generate", "--scenario {} --output made.xml", ".toml"),
    ("platforms.inspect.cli", "{}", ".xml"),
    ("platforms.inspect.cli", "{}", ".so"),
    ("platforms.system.cli", "{}", ".toml"),
    ("platforms.system.cli", f"{EXAMPLES}/systems/kask.toml --hardware {{}}", ".toml"),
    ("apps.run", "--app cg --class S --ranks 2 --scenario grid4x2 --hostfile {}", ".txt"),
    ("apps.run", "--program {} --scenario grid4x2 --ranks 2", ".c"),
    ("apps.run", "--program {} --scenario grid4x2 --ranks 2", ".py"),
    ("apps.run", "--program {} --scenario grid4x2 --ranks 2", ""),
    ("apps.run", "--platform {} --app cg --class S", ".xml"),
    ("predictor.blocks.cli", f"run {{}} --system {EXAMPLES}/systems/merpsys.toml", ".toml"),
    ("predictor.blocks.cli", f"run {EXAMPLES}/blocks/master-slave.toml --system {{}}", ".toml"),
    ("predictor.blocks.cli", "block --model {} --block bcast --size 8 --processes 4", ".json"),
    ("predictor.design.cli", "{}", ".toml"),
    ("predictor.hierarchical.cli", "--system {} --app hpl --n 2000", ".toml"),
    ("predictor.reliability.cli", "--node-mtbf-years 5 --checkpoint 600 --times {}", ".csv"),
    ("validation.campaign", "{}", ".toml"),
    ("validation.optimize.cli", "{}", ".toml"),
    ("validation.run", "--scenario grid4x2 --app cg --class S --no-store --truth {}", ".csv"),
]
KINDS = (
    "pipe",
    "folder",
    "zero",
    "loop",
    "bytes",
    "empty",
    "huge",
    "utf-16",
    "missing",
    "long",
    "odd",
    "lines",
    "nested",
)


def made(kind: str, folder: Path, ending: str) -> str:
    """Make something of the wrong kind and return its name."""
    path = folder / f"{kind}{ending}"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "zero":
            path.symlink_to("/dev/zero")
        case "loop":
            path.symlink_to(path)
        case "bytes":
            path.write_bytes(bytes(range(256)))
        case "empty":
            path.touch()
        case "huge":
            with path.open("wb") as file:
                file.truncate(5 << 30)  # a sparse file takes no space
        case "utf-16":
            path.write_bytes("a = 1\n".encode("utf-16"))
        case "long":
            return "x" * 5000 + ending
        case "odd":
            name = os.fsencode(folder) + b"/odd\xff" + os.fsencode(ending)
            Path(os.fsdecode(name)).write_text("rubbish =")
            return os.fsdecode(name)
        case "lines":
            path = folder / f"two\nlines{ending}"
            path.write_text("rubbish =")
        case "nested":
            path.write_text("a = " + "[" * 10_000)
    return str(path)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(platforms.files.reading, "PATIENCE_S", 0.01)


@pytest.mark.parametrize("command, words, ending", COMMANDS)
def test_what_is_no_such_file_is_refused_in_one_line(command, words, ending, tmp_path, capsys, impatient, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main = importlib.import_module(command).main
    for kind in KINDS:
        if (kind, "--hardware" in words) == ("empty", True):
            continue  # the case adds nothing
        name = made(kind, tmp_path, ending)
        with fenced(tmp_path):
            status = main([name if word == "{}" else word for word in words.split()])
        said = capsys.readouterr()
        assert (status, said.out, len(said.err.splitlines())) == (2, "", 1), (kind, said.err)
        assert said.err.startswith("error: "), kind


def test_a_pipe_with_a_writer_is_read(tmp_path):
    # A pipe as a shell makes it: --hostfile <(sort hosts)
    os.mkfifo(tmp_path / "pipe")
    if os.fork() == 0:
        (tmp_path / "pipe").write_bytes(b"a\r\nb\n")
        os._exit(0)
    assert input_text(tmp_path / "pipe") == "a\nb\n"
    os.wait()


def test_reading_stops_at_the_bound(tmp_path):
    (tmp_path / "file").write_bytes(b"12345")
    assert input_bytes(tmp_path / "file", most_bytes=5) == b"12345"
    with pytest.raises(OSError, match="larger than"):
        input_bytes(tmp_path / "file", most_bytes=4)
    with pytest.raises(OSError, match="larger than"):
        input_bytes("/proc/self/maps", most_bytes=10)  # its reported size is 0


def test_a_name_with_a_zero_byte_is_no_name():
    with pytest.raises(OSError, match="no file can have such a name"):
        input_bytes("a\0b")


def test_output_that_is_not_utf_8_text_is_refused_in_one_line(tmp_path):
    # The platform's name, which tables show, cannot be printed.
    name = os.fsdecode(os.fsencode(tmp_path) + b"/odd\xff.xml")
    Path(name).write_text((ROOT / "tests/platforms/data/two_hosts.xml").read_text())
    command = [sys.executable, "-m", "platforms.inspect", name]
    strict = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}  # as in most locales
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=strict, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1
