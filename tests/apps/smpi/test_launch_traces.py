"""Location of SimGrid's traces that a platform's <config> requests."""

from pathlib import Path

import pytest

from apps.spec.engine_options import trace_options

PLATFORM = Path(__file__).parents[2] / "platforms" / "data" / "two_hosts.xml"
TRACED = (("tracing", "yes"), ("tracing/filename", "here.trace"))


@pytest.mark.parametrize(
    ("in_file", "of_the_user", "kept"),
    [
        (TRACED, (), {"tracing/filename": "/run/simgrid.trace"}),
        (TRACED[:1], (("network/TCP-gamma", "0"),), {"tracing/filename": "/run/simgrid.trace"}),
        # The files that the user wants.
        (TRACED, (("tracing/filename", "mine.trace"),), {"tracing/filename": str(Path.cwd() / "mine.trace")}),
        (TRACED, (("tracing/smpi", "yes"),), {}),
        ((("network/TCP-gamma", "0"),), (), {}),
    ],
)
def test_traces_of_a_config_stay_in_the_folder_of_the_run(in_file, of_the_user, kept):
    assert trace_options(of_the_user, in_file, Path("/run")) == kept
