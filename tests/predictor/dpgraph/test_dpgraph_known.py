"""The data that the fluid model takes from a platform file: SimGrid's factors and the kinds of links."""

import pytest

from platforms.errors import UserError
from platforms.model.platform import Link, Route
from predictor.base import OutOfRange
from predictor.dpgraph.known import known_network


def test_factors_that_are_no_list_are_refused():
    with pytest.raises(UserError, match="smpi/bw-factor:fast: not a list of THRESHOLD:FACTOR"):
        known_network([], {"smpi/bw-factor": "fast"})


@pytest.mark.parametrize("sharing", ["wifi", "nonlinear"])
def test_links_that_the_fluid_model_does_not_have_are_out_of_range(sharing):
    route = Route("a", "b", 1e-3, (Link("air", 1e6, 1e-3, sharing),))
    with pytest.raises(OutOfRange, match=f"link 'air' from a to b: its sharing is {sharing}"):
        known_network([route], {})
