"""The lines of the Li paper for any platform or real machine: sender and receiver in each send mode, on each path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from apps.probes.network.measure import NetworkPlan
from apps.probes.plan import Measurement
from apps.programs.problem import problem
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.model.placement import block
from platforms.model.platform import Platform
from platforms.terminal.prose import prose_lines
from platforms.terminal.table import table_lines
from predictor.graph.li_predictor import MODES, Pair, message_plan, mode_lines, mode_plan, send_models
from predictor.sends.components import MessageComponents, hidden_copy_share, identify_components
from predictor.sends.send_model import SendModel


@dataclass(frozen=True)
class Anywhere:
    """The lines of each kind of path, by its two clusters."""

    name: str  # of the platform or machine
    models: Mapping[Pair, SendModel]

    def components(self, pair: Pair) -> MessageComponents:
        """Return Figure 4's components of a path, in standard mode."""
        return identify_components(self.models[pair])


def plans(platform: Platform) -> list[NetworkPlan]:
    """Return the messages to measure: the paper's seven lengths in each mode, on each kind of path.

    Raises:
        UserError: The platform has one host only.
    """
    if len(platform.hosts) < 2:
        raise UserError(f"platform {platform.name}", "one host, which sends no messages", "Give one with two hosts")
    target = _target(platform)
    return [plan for plan in (message_plan(target), mode_plan(target, MODES)) if plan is not None]


def anywhere(platform: Platform, name: str, measure: Callable[[NetworkPlan], Measurement]) -> Anywhere:
    """Return the lines that the measured messages give.

    Raises:
        UserError: As ``plans``.
    """
    target, (standard, others) = _target(platform), plans(platform)
    models = dict(send_models(target, measure(standard)))
    for pair, lines in mode_lines(target, others, measure(others)).items():
        models[pair] = SendModel({**models[pair].lines, **lines})
    return Anywhere(name, models)


def _target(platform: Platform) -> Target:
    return Target(problem("sendmodes", "standard"), platform, block(platform, len(platform.hosts)))


def anywhere_text(made: Anywhere, *, wide: bool = False) -> str:
    """Return the lines as a table, and the components of each path."""
    rows: list[tuple[str, ...]] = [("path", "mode", "process", "c, ns/byte", "k_l, ms")]
    parts: list[tuple[str, ...]] = [("path", "c1, ns/byte", "k_b, ns/byte", "c2, ns/byte", "k_l, ms", "hidden c1")]
    for pair, model in made.models.items():
        for (mode, side), line in model.lines.items():
            numbers = f"{1e9 * line.c_s_per_byte:.3f}", f"{1e3 * line.k_s:+.4f}"
            rows.append((_path(pair), mode.name.lower(), side.value, *numbers))
        of = made.components(pair)
        values = (
            f"{round(1e9 * value, 3) + 0.0:.3f}" for value in (of.c1_s_per_byte, of.k_b_s_per_byte, of.c2_s_per_byte)
        )
        parts.append((_path(pair), *values, f"{1e3 * of.k_l_s:.4f}", _hidden(model)))
    title = f"{made.name}: lines of messages of 100,000 to 1,000,000 integers"
    components = "Components of a message in standard mode (Figure 4), if copies and transfer do not overlap"
    return "\n".join(
        [
            *prose_lines(title), *table_lines(rows, left={0, 1, 2}, wide=wide), "",
            *prose_lines(components), *table_lines(parts, left={0}, wide=wide),
        ]
    )  # fmt: skip


def _hidden(model: SendModel) -> str:
    try:
        return f"{hidden_copy_share(model):.2f}"
    except ZeroDivisionError:  # copies take no time
        return "-"


def _path(pair: Pair) -> str:
    return f"within {pair[0]}" if pair[0] == pair[1] else f"{pair[0]} to {pair[1]}"


def anywhere_json(made: Anywhere) -> dict[str, Any]:
    """Return the lines and components as JSON values."""
    return {
        "platform": made.name,
        "paths": [
            {
                "path": list(pair),
                "model": [
                    {"mode": mode.name.lower(), "side": side, "c_s_per_byte": line.c_s_per_byte, "k_l_s": line.k_s}
                    for (mode, side), line in model.lines.items()
                ],
                "components": asdict(made.components(pair)),
            }
            for pair, model in made.models.items()
        ],
    }
