"""Options that name the platforms of a validation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from platforms.errors import UserError
from platforms.grids.scenario import SCENARIOS
from platforms.model.platform import Platform
from platforms.options import PlatformOptions, platform_from_request, platforms_from_request


@dataclass(frozen=True, kw_only=True)
class PlatformsOptions(PlatformOptions):
    """Several platforms: files, or ``--scenario all``."""

    all_scenarios: ClassVar[bool] = True


def asked_platforms(request: PlatformOptions) -> list[Platform]:
    """Return the platforms that a request names, ``--scenario all`` included.

    Raises:
        UserError: The options do not fit together or name no platform.
    """
    if request.platform or request.scenario != "all":
        return platforms_from_request(request)
    if request.speeds is not None:
        raise UserError("--speeds", "does not go with --scenario all", "Name one scenario")
    return [platform_from_request(replace(request, scenario=name)) for name in SCENARIOS]
