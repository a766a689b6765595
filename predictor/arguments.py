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
from predictor.defaults.choice import PredictorsOf, default_predictors
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


def add_predictor_argument(
    parser: argparse.ArgumentParser, *, default: Sequence[str] = (), default_text: str = ""
) -> None:
    """Add the option --predictor, which predictors_from_arguments and predictors_by_target read.

    Args:
        parser: The parser.
        default: Names of the predictors without the option; empty: the value of the option is then None.
        default_text: What the help calls the default; empty: its names.
    """
    parser.add_argument(
        "--predictor", default=",".join(default) or None, metavar="P1,P2,...",
        help=f"{help_text()}; or {ALL} (default: {default_text or ','.join(default)}); those named dpgraph record the "
        "program and send messages first, some seconds for each platform",
    )  # fmt: skip


def predictors_from_arguments(args: argparse.Namespace) -> list[Predictor]:
    """Return the predictors that --predictor names.

    Raises:
        UserError: A name is not known.
    """
    return predictors(names(args.predictor, "--predictor"))


def predictors_by_target(args: argparse.Namespace) -> PredictorsOf:
    """Return a function that gives the predictors of a target: those that --predictor names, else the default ones.

    Raises:
        UserError: A name is not known.
    """
    if args.predictor is None:
        return default_predictors
    named = predictors_from_arguments(args)
    return lambda target: named
