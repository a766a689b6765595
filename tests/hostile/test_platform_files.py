"""Malicious platform files are refused before SimGrid loads them; nothing that they name is written or downloaded."""

import os
import socket

import pytest

from platforms.errors import PlatformError, UserError
from platforms.read.read import read_platform
from platforms.read.xml_check import MOST_DEPTH, MOST_HOSTS, MOST_NAME, check_platform_xml
from predictor.dpgraph.graphml import NAMESPACE, read_graphml

HEAD = '<?xml version=\'1.0\'?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">'
ZONE = '<zone id="z" routing="Full"><host id="a" speed="1Gf"/></zone>'


@pytest.fixture
def refusal(tmp_path):
    """``refusal(text, message)``: reading this platform fails with the message, in one line."""

    def check(text, message):
        path = tmp_path / "platform.xml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(PlatformError, match=message) as error:
            read_platform(path)
        assert str(error.value).isprintable()

    return check


def platform(zone=ZONE, config="", head=HEAD):
    return f"{head}{config}{zone}</platform>"


def config(key, value):
    return f'<config><prop id="{key}" value="{value}"/></config>'


def test_entities_are_not_expanded(refusal):
    ten = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 10))
    laughs = f'<!DOCTYPE platform [<!ENTITY e0 "ha">{ten}]>'
    refusal(f"<?xml version='1.0'?>{laughs}<platform>&e9;</platform>", "declares the entity 'e0'")
    for outside in (
        'SYSTEM "file:///etc/passwd"',
        'SYSTEM "http://127.0.0.1:9/x"',
        'PUBLIC "x" "http://127.0.0.1:9/x"',
    ):
        doctype = f"<!DOCTYPE platform [<!ENTITY x {outside}>]>"
        refusal(f"<?xml version='1.0'?>{doctype}<platform>&x;</platform>", "declares the entity 'x'")
    parameter = '<!DOCTYPE platform [<!ENTITY % x SYSTEM "http://127.0.0.1:9/x"> %x;]>'
    refusal(f"<?xml version='1.0'?>{parameter}<platform/>", "declares the entity 'x'")


def test_nothing_is_fetched(refusal, tmp_path):
    # Neither this project, nor SimGrid's parser, nor lxml (for graphs) contacts the server.
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/x.dtd"
        refusal(platform(head=HEAD.replace("https://simgrid.org/simgrid.dtd", url)), "SimGrid says")
        refusal(f'<!DOCTYPE platform SYSTEM "{url}" [<!ENTITY x SYSTEM "{url}">]><platform>&x;</platform>', "entity")
        graph = f'<!DOCTYPE g SYSTEM "{url}" [<!ENTITY x SYSTEM "{url}">]><graphml xmlns="{NAMESPACE}">&x;</graphml>'
        (tmp_path / "graph.graphml").write_text(graph)
        with pytest.raises(UserError):
            read_graphml(tmp_path / "graph.graphml")
        with pytest.raises(BlockingIOError):
            server.accept()


def test_deep_nesting_is_refused(refusal):
    # SimGrid 3.32 corrupts its memory with some thousand levels.
    for depth in (MOST_DEPTH, 3000, 200_000):
        zones = '<zone id="z" routing="Full">' * depth + "</zone>" * depth
        refusal(platform(zones), f"nested deeper than {MOST_DEPTH}")


def test_long_attributes_are_refused(refusal):
    for size in (MOST_NAME + 1, 2_000_000):
        refusal(platform(ZONE.replace('"a"', f'"{"a" * size}"')), f"id has {size} characters")
    refusal(platform(ZONE.replace("1Gf", "1" * 2_000_000)), "speed has 2000000 characters")


def test_clusters_beyond_what_can_be_simulated_are_refused(refusal):
    def cluster(radical):
        rest = 'prefix="c-" suffix="" speed="1Gf" bw="1GBps" lat="1us"'
        return f'<cluster id="c" radical="{radical}" {rest}/>'

    refusal(platform(cluster(f"0-{MOST_HOSTS}")), f"more than {MOST_HOSTS} hosts")
    refusal(platform(cluster("0-9,100-99999999")), f"more than {MOST_HOSTS} hosts")
    refusal(platform(cluster("0-99999999999999999999")), "at most nine digits")
    refusal(platform(ZONE.replace("/>", ' core="4294967296"/>')), "core is 4294967296")


def test_other_encodings_are_refused(refusal):
    text = platform().replace("version='1.0'", "version='1.0' encoding='{}'", 1)
    for encoding in ("UTF-16", "UTF-7", "cp037", "rot13", "none-such"):
        refusal(text.replace("{}", encoding), "encoding|not XML")
    refusal(platform().encode("utf-16"), "SimGrid says|encoding|not XML")
    refusal(platform(ZONE.replace('"a"', '"\xe4"')).encode("latin-1"), "not XML that can be read")
    named = text.replace("{}", "ISO-8859-1").replace('"a"', '"\xe4"')
    refusal(named.encode("latin-1"), "a name in it is not UTF-8 text")


@pytest.mark.parametrize(
    "value", ["NaN", "nanf", "inf", "inff", "-1Gf", "0", "1Gx", "1e400Gf", "", "1Gf,", "1e-320f", "x"]
)
def test_speeds_that_are_none_are_refused(refusal, value):
    refusal(platform(ZONE.replace("1Gf", value)), "speed|unit|range|number")


@pytest.mark.parametrize("value", ["NaN", "inf", "-1Bps", "0", "1Gx", ""])
def test_bandwidths_that_are_none_are_refused(refusal, value):
    link = f'<link id="l" bandwidth="{value}" latency="1us"/>'
    refusal(platform(ZONE.replace("</zone>", f"{link}</zone>")), "bandwidth|unit|number")


def test_two_things_of_one_name_are_refused(refusal):
    refusal(platform(ZONE.replace("</zone>", '<host id="a" speed="2Gf"/></zone>')), "SimGrid says")


def test_a_platform_cannot_have_files_written(refusal, tmp_path, monkeypatch):
    # SimGrid would write a trace as soon as it has loaded the platform.
    monkeypatch.chdir(tmp_path)
    tracing = '<prop id="tracing" value="yes"/><prop id="tracing/platform" value="yes"/>'
    for name in (f"{tmp_path}/there", "../there", "sub/there", ".hidden", "a&#x2f;b", ""):
        text = platform(config=config("tracing/filename", name).replace("</config>", f"{tracing}</config>"))
        refusal(text, "has a trace written to")
    inside = platform(config=config("tracing/filename", "inside").replace("</config>", f"{tracing}</config>"))
    (tmp_path / "inside.xml").write_text(inside)
    before = sorted(os.listdir(tmp_path))
    assert read_platform(tmp_path / "inside.xml").options[0] == ("tracing/filename", "inside")
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize(
    "key",
    [
        "smpi/replay", "smpi/keep-temps", "smpi/tmpdir", "smpi/hostfile", "smpi/comp-adjustment-file",
        "tracing/comment-file",
    ],
)  # fmt: skip
def test_a_platform_cannot_say_what_is_run_or_read(refusal, key):
    refusal(platform(config=config(key, "yes")), f"its <config> sets {key}")


def test_profiles_that_are_no_files_are_refused(refusal, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in ("/dev/zero", "pipe", "."):
        refusal(platform(ZONE.replace("/>", f' availability_file="{name}"/>')), "is not a file")
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(5 << 30)
    refusal(platform(ZONE.replace("/>", ' availability_file="huge"/>')), "larger than")


@pytest.mark.parametrize(
    "name", ["a b", "a;b", "$(touch x)", "`x`", "../../x", "-x", "a'b", "&lt;&amp;&quot;", "ä", "*", "\\"]
)
def test_odd_names_of_hosts_are_kept_as_they_are(tmp_path, name):
    (tmp_path / "odd.xml").write_text(platform(ZONE.replace('"a"', f'"{name}"')))
    (host,) = read_platform(tmp_path / "odd.xml").hosts
    assert host.name == name.replace("&lt;", "<").replace("&amp;", "&").replace("&quot;", '"')


@pytest.mark.parametrize("name", ["a&#10;b", "a&#9;b", "a\tb"])
def test_names_with_control_characters_are_refused_or_become_blanks(tmp_path, name):
    (tmp_path / "odd.xml").write_text(platform(ZONE.replace('"a"', f'"{name}"')))
    try:
        (host,) = read_platform(tmp_path / "odd.xml").hosts
    except PlatformError as err:
        assert str(err).isprintable()
    else:
        assert host.name.isprintable()


def test_options_are_what_the_file_says(tmp_path):
    (tmp_path / "options.xml").write_text(platform(config=config("network/crosstraffic", "no")))
    assert check_platform_xml(tmp_path / "options.xml") == [("network/crosstraffic", "no")]
