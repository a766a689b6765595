"""Suites are read once for counting and queueing, and again whenever one of their files has changed."""

import os

import pytest

from validation.workbench.work import campaigns
from validation.workbench.work.reading import count, expand

SUITE = 'platforms = ["../platforms/one.xml"]\napps = ["ep"]\nclasses = ["S"]\npredictors = ["hcf"]\nranks = [1, 2]\n'
XML = """<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">
<zone id="w" routing="Full"><host id="a" speed="SPEEDGf" PROFILE/><host id="b" speed="1Gf"/>
<link id="l" bandwidth="1Gbps" latency="1us"/><route src="a" dst="b"><link_ctn id="l"/></route></zone></platform>
"""


@pytest.fixture
def read(monkeypatch):
    """The texts of the suites that were read."""
    found = []
    real = campaigns.campaign_of
    monkeypatch.setattr(campaigns, "campaign_of", lambda folder, text: (found.append(text), real(folder, text))[1])
    campaigns._read.cache_clear()
    return found


@pytest.fixture
def folder(tmp_path):
    for part in ("platforms", "suites"):
        (tmp_path / part).mkdir()
    return tmp_path


def hashes(folder, text=SUITE):
    (found,) = expand(folder, text)
    return {case[-1] for case in found["cases"]}


def test_a_suite_that_was_counted_is_queued_without_reading_it_again(folder, read):
    (folder / "platforms" / "one.xml").write_text(XML.replace("SPEED", "1").replace("PROFILE", ""))
    (found,) = count(folder, SUITE, str(folder / "store"), 1)
    assert found["runs"] == 2 and len(hashes(folder)) == 1 and read == [SUITE]


@pytest.mark.parametrize("keeps_date", [False, True])
def test_a_changed_platform_is_read_again(folder, read, keeps_date):
    path = folder / "platforms" / "one.xml"
    path.write_text(XML.replace("SPEED", "1").replace("PROFILE", ""))
    before, state = hashes(folder), path.stat()
    path.write_text(XML.replace("SPEED", "2").replace("PROFILE", ""))
    if keeps_date:
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert hashes(folder).isdisjoint(before) and len(read) == 2


def test_a_changed_profile_in_another_folder_is_noticed(folder, read):
    profile = 'speed_file="../other/busy"'
    (folder / "other").mkdir()
    (folder / "other" / "busy").write_text("1 0.5\n")
    (folder / "platforms" / "one.xml").write_text(XML.replace("SPEED", "1").replace("PROFILE", profile))
    before = hashes(folder)
    (folder / "other" / "busy").write_text("1 0.4\n")
    assert hashes(folder).isdisjoint(before)
