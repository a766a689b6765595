"""Options that name the platforms of a validation."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from platforms.arguments import platform_from_arguments, platforms_from_arguments
from platforms.errors import UserError
from platforms.grids.scenario import SCENARIOS

if TYPE_CHECKING:
    from platforms.model.platform import Platform


def asked_platforms(args: argparse.Namespace) -> list[Platform]:
    """Return the platforms that the options of add_platform_arguments name, ``--scenario all`` included.

    Raises:
        UserError: The options do not fit together or name no platform.
    """
    if args.platform is not None or args.scenario != "all":
        return platforms_from_arguments(args)
    if args.speeds is not None:
        raise UserError("--speeds", "does not go with --scenario all", "Name one scenario")
    one_by_one = (argparse.Namespace(**{**vars(args), "scenario": name}) for name in SCENARIOS)
    return [platform_from_arguments(one) for one in one_by_one]
