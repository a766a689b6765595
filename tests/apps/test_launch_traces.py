"""Where SimGrid's traces go that the <config> of a platform asks for."""

from dataclasses import replace
from pathlib import Path

import pytest

from apps.catalog import problem
from apps.launch import trace_options
from apps.spec import RunSpec, Target
from platforms.placement import block
from platforms.read import read_platform

PLATFORM = Path(__file__).parents[1] / "platforms" / "data" / "two_hosts.xml"
TRACED = (("tracing", "yes"), ("tracing/filename", "here.trace"))


@pytest.mark.parametrize(
    ("in_file", "of_the_user", "kept"),
    [
        (TRACED, (), {"tracing/filename": "/run/simgrid.trace"}),
        (TRACED[:1], (("network/TCP-gamma", "0"),), {"tracing/filename": "/run/simgrid.trace"}),
        # What the user wants to have.
        (TRACED, (("tracing/filename", "mine.trace"),), {"tracing/filename": str(Path.cwd() / "mine.trace")}),
        (TRACED, (("tracing/smpi", "yes"),), {}),
        ((("network/TCP-gamma", "0"),), (), {}),
    ],
)
def test_traces_of_a_config_stay_in_the_folder_of_the_run(in_file, of_the_user, kept):
    platform = replace(read_platform(PLATFORM), options=in_file)
    target = Target(problem("cg", "S"), platform, block(platform, 2))
    assert trace_options(RunSpec(target=target, options=of_the_user), Path("/run")) == kept
