"""Test the site: it builds without a warning, fetches nothing from the network, and is complete."""

import re
from dataclasses import dataclass

import pytest
from lxml import html

for module in ("sphinx", "myst_parser", "furo"):
    pytest.importorskip(module, reason="make docs installs it")

# Elements that a browser fetches automatically, unlike links, which the reader has to click.
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}


@pytest.mark.slow
def test_the_site_asks_the_network_for_nothing(site):
    for page in site.rglob("*.html"):
        for element in html.parse(page).iter(*FETCHED):
            if element.tag == "link" and element.get("rel") in ("canonical", "author"):
                continue
            target = element.get(FETCHED[element.tag]) or ""
            assert not re.match(r"(\w+:)?//", target), f"{page.name}: {target}"
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(\s*[\"']?|@import\s+[\"'])(\w+:)?//", style.read_text()), style


@pytest.mark.slow
def test_every_command_with_its_options_is_on_the_page_of_commands(site):
    from command_pages import parsers

    page = html.parse(site / "reference" / "commands.html")
    headings = {heading.text for heading in page.iter("h2", "h3")}
    options = {code.text_content() for code in page.iter("dt")}
    for name, parser in parsers().items():
        assert name in headings
        for action in parser._actions:
            if action.option_strings and action.dest not in ("help", "help_all"):
                assert any(option.startswith(action.option_strings[0]) for option in options), (name, action.dest)


@pytest.mark.slow
def test_equations_are_mathml(site):
    pages = [page.read_text() for page in site.rglob("*.html")]
    assert any("<math" in page for page in pages)
    assert not any(re.search(r"<script[^>]*mathjax", page, re.IGNORECASE) for page in pages)


def test_comments_beside_fields_describe_them():
    from field_comments import field_comments

    @dataclass
    class Wire:
        """A class of fields with a comment above, a comment at the end, and no comment."""

        # Of one direction,
        # byte/s.
        bandwidth_Bps: float
        latency_s: float = 0.0  # one way
        name: str = ""

    assert field_comments(Wire) == {"bandwidth_Bps": "Of one direction, byte/s.", "latency_s": "one way", "name": ""}


def test_a_type_that_does_not_exist_is_told_from_one_that_is_not_documented():
    from existing_names import exists

    assert exists("collections.abc.Mapping", None)
    assert exists("pd.DataFrame", "validation.comparison.metrics")  # imported there only for type checkers
    assert exists("Runner", "predictor.evidence.broker")
    assert not exists("Runer", "predictor.evidence.broker")
    assert not exists("validation.comparison.metrics.Nothing", "validation.comparison.metrics")


def test_indented_lines_of_a_description_are_code_as_they_are():
    from command_pages import _text

    described = _text('The file:\n\n    apps = ["cg"]  # a_b\n\n    more = 1\n\nIts *end*.')
    assert described == 'The file:\n\n```text\napps = ["cg"]  # a_b\n\nmore = 1\n```\n\nIts \\*end\\*.'


def test_texts_of_parsers_are_no_markup_but_name_pages():
    from command_pages import _plain

    assert (
        _plain("``a_b`` of c_d*e (docs/kernels/index.md)")
        == "`a_b` of c\\_d\\*e ([kernels/index.md](../kernels/index.md))"
    )
