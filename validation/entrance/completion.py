"""Completion of ``gridval`` in shells: print the script that a shell loads, which asks ``gridval`` at every Tab."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from platforms.command.command import Command
from platforms.command.help_text import make_help
from platforms.command.parser import CommandParser
from platforms.command.request import Request, argument
from platforms.errors import UserError
from validation.entrance.choosing import Chosen, choose
from validation.entrance.verbs import VERBS, Verb
from validation.entrance.words import NAME

SHELLS = ("bash", "zsh", "fish")
_LOADING = """To load it at every start of the shell:
bash: echo 'eval "$(gridval completion bash)"' >> ~/.bashrc
zsh: echo 'autoload -U compinit; compinit; eval "$(gridval completion zsh)"' >> ~/.zshrc
fish: gridval completion fish > ~/.config/fish/completions/gridval.fish"""


@dataclass(frozen=True, kw_only=True)
class CompletionRequest(Request):
    """Request of ``gridval completion``."""

    shell: str = argument("SHELL", f"one of {', '.join(SHELLS)}", parse=str.lower, choices=SHELLS)


def _run(request: CompletionRequest) -> int:
    # Imported here because it is slow to import.
    from argcomplete.shell_integration import shellcode

    print(shellcode([NAME], shell=request.shell))
    return 0


def complete(line: str) -> None:
    """Print the completions of the line for the shell, and end the process."""
    # Imported here because it is slow to import.
    import argcomplete

    parser = CommandParser(prog=NAME)
    _add_verbs(parser, VERBS, _words(line))
    argcomplete.autocomplete(parser, always_complete_options="long")


def _words(line: str) -> list[str]:
    """Return the words of a line after the command's name, also where a quotation is not closed yet."""
    try:
        return shlex.split(line)[1:]
    except ValueError:
        return line.split()[1:]


def _add_verbs(parser: argparse.ArgumentParser, verbs: Mapping[str, Verb], words: Sequence[str]) -> None:
    """Add the verbs; only the one that the line names gets its options, because the others are slow to import."""
    commands = parser.add_subparsers()
    for name, verb in verbs.items():
        added = commands.add_parser(name, help=verb.purpose)
        if words[:1] != [name]:
            continue
        if verb.verbs and not (verb.place and words[1:2] and words[1] not in verb.verbs):
            _add_verbs(added, verb.verbs, words[1:])
        else:
            _add_options(commands, name, verb, words[1:])


def _add_options(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, verb: Verb, words: Sequence[str]
) -> None:
    where = next((f"{group} {name}" for group, parent in VERBS.items() if parent.verbs.get(name) is verb), name)
    try:
        chosen = choose([*where.split(), *words])
    except UserError:  # an option that chooses a command is still missing
        chosen = choose(where.split())
    if isinstance(chosen, Chosen):
        commands.choices[name] = parser = chosen.parser()
        make_help(_actions(parser))
        for action in _actions(parser):
            if known := _names(action):
                action.completer = _completer(known)  # type: ignore[attr-defined]  # argcomplete reads it


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)


def _names(action: argparse.Action) -> Sequence[str]:
    """Return the names that are known as values of an option; empty: any text or file."""
    # Imported here for a quick start: the verbs themselves do not need them.
    from apps.programs.kernel import kernel_names
    from apps.spec.choices import ENGINES
    from platforms.grids.network import network_names
    from platforms.grids.scenario import NAMED
    from platforms.model.placement import MAPPINGS
    from predictor.registry import ALL, PREDICTORS

    known: dict[str, Sequence[str]] = {
        "--predictor": (*PREDICTORS, ALL),
        "--app": kernel_names(),
        "--scenario": NAMED,
        "--network": network_names(),
        "--mapping": tuple(MAPPINGS),
        "--engine": ENGINES,
        "--class": tuple("SWABCD"),
    }
    return next((known[name] for name in action.option_strings if name in known), ())


def _completer(known: Sequence[str]) -> Callable[..., list[str]]:
    """Return a function that completes the last of several names with commas between them."""

    def completions(prefix: str, **_: object) -> list[str]:
        before, comma, last = prefix.rpartition(",")
        return [f"{before}{comma}{name}" for name in known if name.startswith(last)]

    return completions


COMMAND = Command(
    "completion",
    CompletionRequest,
    _run,
    __doc__,
    epilog=_LOADING.replace("\n", "\n\n"),
)
main = COMMAND.main
