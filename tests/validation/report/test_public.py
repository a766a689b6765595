"""gridval report --public: a folder of pages whose addresses stay."""

import json
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from validation.comparison.compare import COLUMNS
from validation.report.command import main
from validation.report.public.site import badge, median_errors

ATOM = "{http://www.w3.org/2005/Atom}"
HOSTILE = ("../x", "<script>alert(1)</script>", "a\x00b]]>&amp;")
CLUSTERS = """cluster,program,predictor,error,within,cost
pi,cg,../x,0.10,true,0.5
pi,cg,../x,-0.30,false,
pi,cg,<script>alert(1)</script>,0.02,,
"""


def results(folder, predictors=("structural",), *, scenario="grid4x2", errors=(0.0003, -0.0005)):
    """Write results of two targets, whose simulated times are 2 s and 4 s."""
    rows = [
        dict.fromkeys(COLUMNS)
        | {"predictor": name, "app": "cg", "class": size, "scenario": scenario, "network": "gigabit", "ranks": 8}
        | {"predicted_s": true_s * (1 + error), "simulated_s": true_s, "error_pct": 100 * error, "flags": ""}
        | {"truth": "simulation", "abs_error_pct": 100 * abs(error), "mapping": "block", "iterations": 0}
        for name in predictors
        for size, true_s, error in zip("SW", (2.0, 4.0), errors, strict=True)
    ]
    folder.mkdir(parents=True)
    (folder / "printed.json").write_text(json.dumps({"results": rows}))
    return str(folder / "printed.json")


def tree(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def publish(folder, *words):
    assert main([*words, "--public", str(folder), "--date", "2026-11-28"]) == 0


class _Links(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.links = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("href", "src") and not value.startswith("#")]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder of a site with a league and results, whose names are hostile."""
    folder = tmp_path_factory.mktemp("public")
    (folder / "clusters.csv").write_text(CLUSTERS)
    hostile = results(folder / "<b>&", HOSTILE, scenario=HOSTILE[1])
    publish(folder / "site", hostile, "--clusters", str(folder / "clusters.csv"), "--title", "<i>Ours</i>")
    return folder / "site"


def test_the_folder_has_pages_data_badges_and_a_feed_and_all_their_links_are_there(site):
    found = [path for path in site.rglob("*.html")]
    assert len(found) == 4  # index, the current league, its version, one page of results
    for path in found:
        for link in _Links(path.read_text()).links:
            assert (path.parent / link).resolve().is_file(), (path, link)
    feed = ElementTree.parse(site / "feed.xml").getroot()
    assert {(site / link.get("href")).is_file() for link in feed.iter(f"{ATOM}link")} == {True}


def test_hostile_names_are_text_and_name_no_file(site):
    assert {path.suffix for path in site.rglob("*") if path.is_file()} == {".html", ".xml", ".json", ".svg"}
    assert {path.name for path in site.parent.iterdir()} == {"site", "clusters.csv", "<b>&"}
    for path in site.rglob("*.html"):
        text = path.read_text()
        assert "<script>alert" not in text and "<i>Ours" not in text
        assert _Links(text).tags.count("script") == 1  # its own, which the policy knows by its hash
    for path in (*site.rglob("*.svg"), *site.rglob("*.xml")):
        assert not [tag for tag in ElementTree.parse(path).getroot().iter() if "script" in str(tag.tag)]


def test_a_badge_has_the_median_error_without_sign(site, tmp_path):
    # By hand: the median of 10 and 30 % is 20 %; of 0.03 and 0.05 % it is 0.04 %.
    league = json.loads((site / "site.json").read_text())["published"][1]
    assert "../x: median error 20.0 %, 2 predictions" in (site / f"badges/{league['id']}/x.svg").read_text()
    assert ">0.04 %</text>" in badge("structural", *median_errors([("s", 0.03), ("s", -0.05)])["s"])


def test_more_results_leave_all_addresses_and_what_was_published(site, tmp_path):
    before = tree(site)
    copy = tmp_path / "site"
    for name, content in before.items():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes(content)
    assert main([results(tmp_path / "second"), "--public", str(copy), "--date", "2026-12-01"]) == 0
    after = tree(copy)
    changed = {name for name in before if after[name] != before[name]}
    assert changed == {"index.html", "feed.xml", "site.json"}
    assert len([name for name in after if name.startswith("results/")]) == 2
    days = [one["day"] for one in json.loads(after["site.json"])["published"]]
    assert days == ["2026-11-28", "2026-11-28", "2026-12-01"]
    publish(copy, results(tmp_path / "the same again"))
    assert tree(copy) == after  # equal results are published once, and equal data give equal bytes


def test_a_folder_of_something_else_is_refused_and_stays_as_it_was(tmp_path, capsys, site):
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("years of work")
    (tmp_path / "file").write_text("")
    damaged = tmp_path / "damaged"
    (damaged / "data").mkdir(parents=True)
    made = json.loads((site / "site.json").read_text())
    (damaged / "site.json").write_text((site / "site.json").read_text())
    for one in made["published"]:
        (damaged / "data" / f"{one['id']}.json").write_text('{"results": []}')
    outside = tmp_path / "outside"
    outside.mkdir()
    made["published"][0]["id"] = "../../x"
    (outside / "site.json").write_text(json.dumps(made))
    name = results(tmp_path / "kept")
    for folder, said in (
        (other, "no site.json"), (damaged, "is not what was published"), (outside, "cannot be read"), ("file", "folder")
    ):  # fmt: skip
        before = tree(tmp_path)
        assert main([name, "--public", str(tmp_path / folder)]) == 2
        error = capsys.readouterr().err
        assert said in error and len(error.strip().splitlines()) == 1
        assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "neither a page nor a site"),
        (("--out", "page.html", "--public", "site"), "at once"),
        (("--out", "page.html"), "no results are named"),
        (("--out", "page.html", "--title", "x", "r.csv"), "only a site"),
        (("--public", "site"), "nothing to publish"),
        (("--public", "site", "--date", "soon"), "is no day"),
        (("--public", "site", "--clusters", "clusters.csv", "--address", "javascript:x"), "no address on the web"),
        (("--public", "site", "--clusters", "bad.csv"), "bad.csv:2: no finite error"),
        (("--public", "site", "--clusters", "none.csv"), "No such file"),
    ],
)
def test_what_cannot_be_published_is_refused_in_one_line(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clusters.csv").write_text(CLUSTERS)
    (tmp_path / "bad.csv").write_text(CLUSTERS.replace("0.10", "nan"))
    assert main(list(words)) == 2
    error = capsys.readouterr().err
    assert said in error and len(error.strip().splitlines()) == 1
    assert not (tmp_path / "site").exists()


def test_the_feed_links_to_the_address_of_the_site(tmp_path):
    (tmp_path / "clusters.csv").write_text(CLUSTERS)
    publish(tmp_path / "site", "--clusters", str(tmp_path / "clusters.csv"), "--address", "https://example.org/runs")
    feed = ElementTree.parse(tmp_path / "site" / "feed.xml").getroot()
    links = [link.get("href") for link in feed.iter(f"{ATOM}link")]
    assert links[:2] == ["https://example.org/runs/feed.xml", "https://example.org/runs/index.html"]
    assert feed.find(f"{ATOM}entry/{ATOM}updated").text == "2026-11-28T00:00:00Z"
