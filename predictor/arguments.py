"""Options that name problems and predictors."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from apps.arguments.programs import own_problem_from_arguments, problem_from_arguments
from apps.programs.kernel import sized_names
from apps.programs.problem import Problem
from platforms.errors import UserError
from predictor.answers.answers import names
from predictor.base import Predictor
from predictor.registry import ALL, help_text, predictors


def problems_from_arguments(args: argparse.Namespace) -> list[Problem]:
    """Return the problems that --app with --class or --size, or --program, ask for.

    Raises:
        UserError: The options do not fit together, or name something unknown.
    """
    own = own_problem_from_arguments(args)
    if own is not None:
        return [own]
    if args.app is None and args.size is not None:
        raise UserError(f"--size {args.size}", "goes with --app", f"Name one of {', '.join(sized_names())}")
    apps = names("cg,mg,lu" if args.app is None else args.app, "--app")
    return [problem_from_arguments(args, app, default_class="B") for app in apps]


def add_predictor_argument(parser: argparse.ArgumentParser, *, default: Sequence[str]) -> None:
    """Add the option --predictor, which predictors_from_arguments reads."""
    parser.add_argument(
        "--predictor", default=",".join(default), metavar="P1,P2,...",
        help=f"{help_text()}; or {ALL} (default: {','.join(default)}); those named dpgraph record the program and "
        "send messages first, some seconds for each platform",
    )  # fmt: skip


def predictors_from_arguments(args: argparse.Namespace) -> list[Predictor]:
    """Return the predictors that --predictor names.

    Raises:
        UserError: A name is not known.
    """
    return predictors(names(args.predictor, "--predictor"))
