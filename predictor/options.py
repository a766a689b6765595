"""Options that name problems and predictors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from apps.errors import OptionError
from apps.options.machines import MachineOptions
from apps.options.programs import ProgramOptions, own_problem_from_request, problem_from_request
from apps.programs.kernel import sized_names
from apps.programs.problem import Problem
from platforms.command.request import Request, option
from platforms.errors import UserError
from predictor.answers.answers import names
from predictor.base import Learning, Predictor
from predictor.defaults.choice import PredictorsOf, default_predictors
from predictor.registry import ALL, help_text, predictors


def problems_from_request(request: ProgramOptions) -> list[Problem]:
    """Return the problems that --app with --class or --size, or --program, ask for.

    Raises:
        UserError: The options do not fit together, or name something unknown.
    """
    machine = request.machine if isinstance(request, MachineOptions) else None
    user_problem = own_problem_from_request(request, real_mpi=machine is not None)
    if user_problem is not None:
        return [user_problem]
    if request.app is None and request.size is not None:
        raise UserError(f"--size {request.size}", "goes with --app", f"Name one of {', '.join(sized_names())}")
    apps = names("cg,mg,lu" if request.app is None else request.app, "--app")
    return [problem_from_request(request, app) for app in apps]


def problems_in_place(request: ProgramOptions) -> list[Problem] | None:
    """Return the problems that the options name in place of those of a file; None: they name none.

    Raises:
        UserError: The options do not fit together, or name something unknown.
    """
    if request.app is not None or request.program is not None:
        return problems_from_request(request)
    for name, value in (("--class", request.problem_class), ("--size", request.size), ("--param", request.param)):
        if value not in (None, ()):
            shown = value[0] if isinstance(value, tuple) else value
            raise UserError(f"{name} {shown}", "goes with --app", "The file has the programs: drop it, or name one")
    own_problem_from_request(request)  # raises an error for other options of a program
    return None


@dataclass(frozen=True, kw_only=True)
class PredictorOption(Request):
    """The option --predictor."""

    default_predictors: ClassVar[str] = ""  # what the help calls those that are taken without the option

    predictor: str | None = option(None, "P1,P2,...", lambda request: predictor_help(request))


@dataclass(frozen=True, kw_only=True)
class LearningOptions(Request):
    """Options of predictors that learn a program from recordings on fewer ranks."""

    recorded: str | None = option(
        None,
        "P1,P2,...",
        "numbers of ranks on which the predictors named learned record the program (default: a few small ones that "
        "they choose); at least three",
    )
    known: tuple[str, ...] = option(
        (),
        "NAME=VALUE",
        "a size of the problem that the predictors named learned may use, beside the parameters of a kernel and the "
        "numbers among --program-args; NAME@P=VALUE: in the recording on P ranks it is another one; "
        "may be given several times",
    )


def predictor_help(request: type[Request]) -> str:
    """Return the help of --predictor."""
    assert issubclass(request, PredictorOption)
    return (
        f"{help_text()}; or {ALL} (default: {request.default_predictors}); those named dpgraph record the program and "
        "send messages first, some seconds for each platform"
    )


def predictors_from_request(request: PredictorOption) -> list[Predictor]:
    """Return the predictors that --predictor names.

    Raises:
        UserError: A name is not known.
    """
    named = predictors(names(request.predictor, "--predictor")) if request.predictor is not None else []
    if not isinstance(request, LearningOptions) or not (request.recorded or request.known):
        return named
    return with_learning_options(named, request.recorded, request.known)


def with_learning_options(named: Sequence[Predictor], recorded: str | None, known: Sequence[str]) -> list[Predictor]:
    """Return the predictors, those that learn from recordings with the options --recorded and --known.

    Raises:
        OptionError: None of the predictors learns from recordings.
    """
    made = [model.with_options(recorded, known) if isinstance(model, Learning) else model for model in named]
    if not any(isinstance(model, Learning) for model in named):
        where = f"--recorded {recorded}" if recorded else f"--known {known[0]}"
        raise OptionError(where, "goes with a predictor that learns from recordings", "Add --predictor learned")
    return made


def predictors_by_target(request: PredictorOption) -> PredictorsOf:
    """Return a function that gives the predictors of a target: those that --predictor names, else the default ones.

    Raises:
        UserError: A name is not known.
    """
    named = predictors_from_request(request)
    return default_predictors if request.predictor is None else lambda target: named
