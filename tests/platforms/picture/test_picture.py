"""Pictures of platforms of every kind are drawn without warnings, have a limited size, and explain their contents."""

import re
import warnings
from pathlib import Path

import pytest

from platforms.grids.scenario import named_grid
from platforms.picture import platform_figure
from platforms.picture.figure import MOST_IN
from platforms.picture.parts import parts_of
from platforms.read.read import materialise, read_platform
from platforms.show.cli import main
from platforms.survey import survey

CAMPUS = Path(__file__).parents[3] / "examples" / "platforms" / "campus.xml"
HEAD = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">'


def texts(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def drawn(platform, folder):
    """The figure, after it was written as SVG with all warnings as errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = platform_figure(platform)
        figure.savefig(folder / "picture.svg")
    width, height = figure.get_size_inches()
    assert 0 < width <= MOST_IN[0] + 1e-9
    assert 0 < height <= MOST_IN[1] + 1e-9
    return figure


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("two_hosts", ["alice", "bob", "100 Mbit/s, 10 µs, shared by both directions (1 link)"]),
        ("crossbar", ["x0", "x11", "1 Gbit/s, 50 µs, each direction for itself (12 links)"]),
        ("fat_tree", ["t0", "t15"]),
        ("torus", ["Each square is a host: 1 Gflop/s"]),
        ("dragonfly", ["fly", "60 hosts"]),
        ("dijkstra", ["a", "b", "c"]),
        ("peers", ["here", "there", "Beside the latencies of links, by distance: 7 ms"]),
        ("nested", ["north", "south", "farm", "city"]),  # country is the root: not drawn
        ("mixed_zone", ["slow1", "fast1", "wide", "8 cores of 1 Gflop/s"]),
        ("no_route", ["alice", "bob"]),
    ],
)
def test_each_kind_of_platform_is_drawn(data, tmp_path, name, said):
    shown = texts(drawn(read_platform(data / f"{name}.xml"), tmp_path))
    for text in said:
        assert text in shown
    assert "country" not in shown


def test_a_grid_shows_clusters_and_the_links_between_them(tmp_path):
    shown = texts(drawn(materialise(named_grid("grid4x8", "continental")), tmp_path))
    assert {"c1", "c4", "8 hosts", "70 Gflop/s", "inside: 1 Gbit/s, 150 µs"} <= set(shown)
    assert "10 Gbit/s, 5 ms, shared by both directions (6 links)" in shown


def test_hosts_of_a_zone_of_several_kinds_stand_beside_clusters(tmp_path):
    platform = read_platform(CAMPUS)
    found = parts_of(platform, survey(platform))
    assert [part.name for part in found.parts] == ["old", "new", "desk-0", "desk-1", "desk-2"]
    # The switch of the lab joins three desks to the copper; fibre and copper meet in the old cluster.
    between = {frozenset((s.first, s.second)): [link.name for link in s.links] for s in found.graph.spans}
    assert between[frozenset((0, 1))] == ["fibre_UP"]
    (switch,) = [vertex for vertex in found.graph.vertices if vertex >= found.graph.parts]
    assert between[frozenset((0, switch))] == ["copper"]
    assert {frozenset((i, switch)) for i in (2, 3, 4)} <= between.keys()
    assert {"lab", "desk-2"} <= set(texts(drawn(platform, tmp_path)))


def test_a_platform_of_many_clusters_is_bounded_and_says_so(tmp_path):
    platform = materialise(named_grid("grid42x1", speeds_flops=[1e9] * 42))
    figure = drawn(platform, tmp_path)
    assert {"c1 to c2", "Too many clusters to be drawn one by one: 21 boxes"} <= set(texts(figure))
    # 21 boxes with a link between any two: one vertex instead of 210 lines.
    assert "a link for each of 210 pairs" in texts(figure)


def test_latencies_by_distance_are_one_vertex(tmp_path):
    hosts = "".join(f'<host id="h{i}" speed="{i + 1}Gf" coordinates="{i}.0 0.0 1.0"/>' for i in range(8))
    (tmp_path / "far.xml").write_text(f'{HEAD}<zone id="w" routing="Vivaldi">{hosts}</zone></platform>')
    # Heights of 1 ms twice, and 1 to 7 ms between.
    assert {"latency by distance", "3 ms to 9 ms"} <= set(texts(drawn(read_platform(tmp_path / "far.xml"), tmp_path)))


def test_names_of_the_user_are_not_formulas(tmp_path):
    (tmp_path / "own.xml").write_text(
        f'{HEAD}<zone id="$x_1$" routing="Full"><host id="a$b$" speed="1Gf"/><host id="&lt;b&gt;" speed="1Gf"/>'
        '<link id="$l$" bandwidth="1GBps" latency="1us"/>'
        '<route src="a$b$" dst="&lt;b&gt;"><link_ctn id="$l$"/></route></zone></platform>'
    )
    figure = drawn(read_platform(tmp_path / "own.xml"), tmp_path)
    assert "a$b$" in texts(figure)
    assert "<b>" not in re.sub("<!--.*?-->", "", (tmp_path / "picture.svg").read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_the_command_writes_the_picture(ending, tmp_path, capsys):
    target = tmp_path / f"campus.{ending}"
    assert main([str(CAMPUS), "--picture", str(target)]) == 0
    assert target.stat().st_size > 5000


def test_the_same_platform_gives_the_same_picture(tmp_path, capsys):
    for name in ("one.svg", "two.svg"):
        assert main([str(CAMPUS), "--picture", str(tmp_path / name)]) == 0
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def star(folder, links):
    """Hosts of different speeds, each with a link of a bandwidth and latency in SimGrid's notation."""
    hosts = "".join(f'<host id="h{i}" speed="{i + 1}Gf"/>' for i in range(len(links)))
    wires = "".join(f'<link id="l{i}" bandwidth="{rate}" latency="{wait}"/>' for i, (rate, wait) in enumerate(links))
    ways = "".join(
        f'<route src="h{i}" dst="h{j}"><link_ctn id="l{i}"/><link_ctn id="l{j}"/></route>'
        for i in range(len(links)) for j in range(i)
    )  # fmt: skip
    path = folder / "star.xml"
    path.write_text(f'{HEAD}<zone id="w" routing="Full">{hosts}{wires}{ways}</zone></platform>')
    return read_platform(path)


def test_many_kinds_of_links_are_told_by_samples(tmp_path):
    # From 10 to 1000 Mbit/s and 1 to 100 us: in the middle the geometric means.
    links = [(f"{10 ** (1 + i / 7):.3f}Mbps", f"{10 ** (2 * i / 14):.3f}us") for i in range(15)]
    shown = set(texts(drawn(star(tmp_path, links), tmp_path)))
    assert {"bandwidth 1 Gbit/s", "bandwidth 100 Mbit/s", "bandwidth 10 Mbit/s"} <= shown
    assert {"latency 1 µs", "latency 10 µs", "latency 100 µs"} <= shown


def test_a_latency_by_distance_between_two_is_a_line(tmp_path):
    hosts = "".join(f'<host id="h{i}" speed="{i + 1}Gf" coordinates="{3 * i}.0 0.0 1.0"/>' for i in range(2))
    (tmp_path / "far.xml").write_text(f'{HEAD}<zone id="w" routing="Vivaldi">{hosts}</zone></platform>')
    # Heights of 1 ms twice, and 3 ms between.
    shown = texts(drawn(read_platform(tmp_path / "far.xml"), tmp_path))
    assert "no link, latency by distance: 5 ms" in shown


def test_long_names_lose_their_middle(tmp_path):
    name = "a-very-long-name-of-a-host-that-nobody-would-want-to-read-in-a-picture"
    (tmp_path / "long.xml").write_text(
        f'{HEAD}<zone id="w" routing="Full"><host id="{name}" speed="1Gf"/><host id="b" speed="2Gf"/>'
        f'<link id="l" bandwidth="1GBps" latency="1us"/><route src="{name}" dst="b"><link_ctn id="l"/></route>'
        "</zone></platform>"
    )
    (shown,) = [text for text in texts(drawn(read_platform(tmp_path / "long.xml"), tmp_path)) if "…" in text]
    start, end = shown.split("…")
    assert name.startswith(start) and name.endswith(end) and len(shown) < 40
