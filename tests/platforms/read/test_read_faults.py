"""Reading files that are no platforms, and the reader's cache."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import platforms
import platforms.read.read
from platforms.errors import PlatformError, UserError
from platforms.files.caching import cache_folder
from platforms.read import xml_check
from platforms.read.read import read_platform
from platforms.simgrid.installed import check_simgrid


@pytest.fixture
def empty_cache(data, tmp_path, monkeypatch):
    """A cache that contains only the compiled helper."""
    read_platform(data / "two_hosts.xml")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "compiled").symlink_to(cache_folder() / "compiled")
    monkeypatch.setenv("GRID_VALIDATOR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def two_hosts(data, tmp_path):
    """``two_hosts(name)``: a file of this name with a platform that only this test has read, even in memory."""

    def make(name):
        text = (data / "two_hosts.xml").read_text() + f"<!-- {tmp_path} -->\n"
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return make


@pytest.mark.parametrize("content", [b"", b"<platform", b"\x7fELF", b'<?xml version="1.0"?><a/>', b"\xff\xfe\x00"])
def test_rubbish_is_refused_in_one_line(tmp_path, content):
    path = tmp_path / "rubbish.xml"
    path.write_bytes(content)
    with pytest.raises(PlatformError, match=re.escape(str(path))) as error:
        read_platform(path)
    assert "\n" not in str(error.value)


def test_a_folder_and_a_broken_shared_object_are_refused(tmp_path):
    with pytest.raises(PlatformError, match="not a file"):
        read_platform(tmp_path)
    (tmp_path / "broken.so").write_bytes(b"not an object")
    with pytest.raises(PlatformError, match=r"broken\.so.*SimGrid says"):
        read_platform(tmp_path / "broken.so")


def test_a_platform_in_cpp_is_to_be_compiled_first(tmp_path):
    (tmp_path / "line.cpp").write_text("#include <simgrid/s4u.hpp>\n")
    with pytest.raises(PlatformError, match=r"line\.cpp: a platform in C\+\+ that is not compiled\. Compile it first"):
        read_platform(tmp_path / "line.cpp")


def test_watts_that_cannot_be_read_are_refused(tmp_path, data):
    text = (data / "nested.xml").read_text().replace("95.0:120.0:200.0, 93.0:115.0:170.0", "much")
    (tmp_path / "watts.xml").write_text(text)
    with pytest.raises(PlatformError, match="host 's1': wattage_per_state 'much' is not Idle:Epsilon:AllCores"):
        read_platform(tmp_path / "watts.xml")


def test_an_entity_of_the_file_is_not_followed(tmp_path, data):
    (tmp_path / "secret").write_text("a secret")
    doctype = f'"x.dtd" [<!ENTITY secret SYSTEM "file://{tmp_path}/secret">]'
    text = (data / "nested.xml").read_text().replace('"https://simgrid.org/simgrid.dtd"', doctype)
    (tmp_path / "entity.xml").write_text(text.replace('<prop id="network', '&secret;<prop id="network'))
    with pytest.raises(PlatformError, match="declares the entity 'secret'"):
        read_platform(tmp_path / "entity.xml")


def test_a_platform_that_takes_too_long_to_load_is_given_up(two_hosts, monkeypatch, empty_cache):
    monkeypatch.setattr(platforms.read.read, "TIME_LIMIT_S", 0.001)  # starting a process takes longer
    with pytest.raises(PlatformError, match=r"not loaded it within 0\.001 s"):
        read_platform(two_hosts("slow.xml"))


def test_a_platform_read_before_needs_no_process(data):
    check_simgrid()
    known = read_platform(data / "nested.xml")
    program = (
        "import subprocess, sys\n"
        "def refuse(*args, **kwargs): raise AssertionError(args)\n"
        "subprocess.run = subprocess.Popen = refuse\n"
        "from platforms.read.read import read_platform\n"
        "print(read_platform(sys.argv[1]).content_hash)\n"
    )
    command = [sys.executable, "-c", program, str(data / "nested.xml")]
    root = Path(platforms.__file__).parents[1]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == known.content_hash


def test_a_damaged_cache_entry_is_made_again(two_hosts, empty_cache):
    known = read_platform(two_hosts("one.xml"))
    (entry,) = (empty_cache / "descriptions").iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(whole[:20])
    again = read_platform(two_hosts("other.xml"))  # memory keeps descriptions by path, the cache folder by content
    assert (again.content_hash, again.clusters) == (known.content_hash, known.clusters)
    assert entry.read_bytes() == whole


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('bandwidth="1GBps"', 'bandwidth="0Bps"', "link 'cable' has a bandwidth of 0 byte/s"),
        ('bandwidth="1GBps"', 'bandwidth="infGBps"', "link 'cable' has a bandwidth of inf byte/s"),
        ('latency="1us"', 'latency="nan"', "link 'cable' has a latency of nan s"),
        ('speed="2Gf"', 'speed="infGf"', "host 'b' has a speed of inf flop/s"),
        ('speed="2Gf"', 'speed="1e-300f"', r"host 'b' has a speed of 1(\.0+)?e-300 flop/s"),
        ('speed="2Gf"', 'speed="1e300f"', "host 'b' has a speed of 1.*e[+]300 flop/s"),
        ('bandwidth="1GBps"', 'bandwidth="1e-300Bps"', "link 'cable' has a bandwidth of 1.*e-300 byte/s"),
        ('latency="1us"', 'latency="1e300s"', "link 'cable' has a latency of 1.*e[+]300 s"),
        ('id="a"', 'id="a&#10;b"', "a line break, a tab or the like in its name"),
    ],
)
def test_what_nothing_can_be_computed_with_is_refused(tmp_path, old, new, said):
    text = (
        '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
        '<zone id="z" routing="Floyd"><host id="a" speed="1Gf"/><host id="b" speed="2Gf"/>'
        '<link id="cable" bandwidth="1GBps" latency="1us"/></zone></platform>\n'
    )
    path = tmp_path / "odd.xml"
    path.write_text(text)
    assert len(read_platform(path).hosts) == 2
    path.write_text(text.replace(old, new))
    with pytest.raises(PlatformError, match=said):
        read_platform(path)


def test_a_compiled_platform_that_ends_the_process_is_refused(tmp_path):
    (tmp_path / "quit.cpp").write_text('#include <cstdlib>\nextern "C" void load_platform() { std::_Exit(0); }\n')
    library = tmp_path / "quit.so"
    subprocess.run(["g++", "-shared", "-fPIC", "-o", library, tmp_path / "quit.cpp"], check=True)
    with pytest.raises(PlatformError, match="it ends the process that loads it"):
        read_platform(library)


def zone(content):
    head = '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
    return f'{head}<zone id="w" routing="None">{content}</zone></platform>'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('<?xml version="1.0" encoding="martian"?><platform version="4.1"/>', "its encoding is 'martian'"),
        (zone('<host id="h" speed="1Gf" availability_file="p"/>'), "availability_file='p' is larger than 0 MiB"),
        (zone('<host id="h" speed="1Gf,2Gf"><prop id="wattage_per_state" value="1:2:3"/></host>'),
         "wattage_per_state '1:2:3' gives 1 states, but the host has 2"),
    ],
)  # fmt: skip
def test_a_platform_file_that_cannot_be_taken_is_refused(tmp_path, monkeypatch, text, said):
    monkeypatch.setattr(xml_check, "MOST_PROFILE_BYTES", 3)
    (tmp_path / "p").write_text("0 1\n")
    (tmp_path / "own.xml").write_text(text)
    with pytest.raises(UserError, match=re.escape(said)):
        read_platform(tmp_path / "own.xml")


def test_a_platform_that_goes_while_it_is_looked_at_is_said(tmp_path):
    with pytest.raises(UserError, match=re.escape("gone.xml: cannot be read: No such file")):
        xml_check.check_platform_xml(tmp_path / "gone.xml")


@pytest.mark.parametrize("where", ["host", "zone"])
def test_bytes_per_flop_in_a_platform_is_refused_rather_than_ignored(tmp_path, where):
    prop = "<prop id='bytes_per_flop' value='8'/>"
    host = f"<host id='a' speed='1Gf'>{prop if where == 'host' else ''}</host>"
    zone = f"<zone id='w' routing='Full'>{prop if where == 'zone' else ''}{host}</zone>"
    head = "<?xml version='1.0'?><!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\"><platform version='4.1'>"
    (tmp_path / "p.xml").write_text(f"{head}{zone}</platform>")
    with pytest.raises(PlatformError, match=r"p\.xml:1: the property bytes_per_flop.*--memory-bus"):
        read_platform(tmp_path / "p.xml")
