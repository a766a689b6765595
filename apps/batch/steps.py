"""Follow the commands of a batch script from its first to its last, and collect the steps that they start.

Of the shell's language this knows assignments, ``export``, ``cd``, blocks and loops over written lists.  Commands are
not executed: what depends on their results is unknown, and noted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from apps.batch.headers import Allocation
from apps.batch.launchers import LAUNCHERS, Launch, launch_of
from apps.batch.lexer import HEREDOC, NEWLINE, REDIRECTIONS, TEXT, Piece, Unknown, Word, fields, joined

_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\+?)=", re.ASCII)
_OPENING = {"if": "fi", "while": "done", "until": "done", "for": "done", "select": "done", "case": "esac", "{": "}"}
_PASSED = frozenset(("then", "else", "elif", "do", "!", "time", "exec", "command", "nohup"))
_BEFORE = ("time", "timeout", "nice", "nohup", "stdbuf", "numactl", "env")  # a launcher
_SITE = frozenset(("module", "ml", "source", ".", "spack", "conda", "use"))
_FILES = frozenset("cp mv rsync tar gzip gunzip unzip dd scp sbcast zip stage_in stage_out".split())
_QUICK = frozenset(
    "echo printf export set unset ulimit mkdir rm ls date hostname pwd env printenv umask true false : test [ [[ ((  "
    "declare typeset local readonly shopt trap exit return cat head tail grep wait cd pushd popd touch chmod ln which "
    "lscpu numactl nvidia-smi scontrol squeue sacct free uname id whoami shift type let break continue alias".split()
)
_MOST_TIMES = 100_000  # of a loop
_MOST_FOLLOWED = 100_000  # words, those of a loop once in each pass
_RANGE = re.compile(r"\{(-?\d{1,7})\.\.(-?\d{1,7})\}", re.ASCII)
_MOST_NOTES = 60
_MOST_LAUNCHES = 500


@dataclass
class _Block:
    """A block of the shell that is not closed yet."""

    word: str  # that opens it
    closing: str
    line: int
    times: int | None  # how often it runs, with ``values`` each time once; None: not known
    name: str = ""  # variable of a loop
    values: list[str] = field(default_factory=list)  # its values in the passes to come
    body: int = 0  # place of the loop's first word in the script
    kept: tuple[dict[str, str | Unknown], str | None] | None = None  # what a subshell restores


def _initial(asked: Allocation, folder: str) -> dict[str, str | Unknown]:
    """Return the variables that a scheduler sets (manual pages sbatch, qsub and bsub), and HOME."""
    nodes, per_node, total = asked.least_nodes, asked.per_node, asked.total
    by_scheduler: dict[str, dict[str, object]] = {
        "slurm": {
            "SLURM_NTASKS": total, "SLURM_NPROCS": total, "SLURM_NNODES": nodes, "SLURM_JOB_NUM_NODES": nodes,
            "SLURM_NTASKS_PER_NODE": per_node, "SLURM_TASKS_PER_NODE": per_node, "SLURM_JOB_NAME": asked.job_name,
            "SLURM_CPUS_PER_TASK": asked.cpus_per_task, "SLURM_SUBMIT_DIR": folder,
        },
        "pbs": {
            "PBS_O_WORKDIR": folder, "PBS_NP": total, "PBS_NUM_NODES": nodes, "PBS_NUM_PPN": per_node,
            "PBS_JOBNAME": asked.job_name, "OMP_NUM_THREADS": asked.threads,
        },
        "lsf": {"LS_SUBCWD": folder, "LSB_DJOB_NUMPROC": total, "LSB_MAX_NUM_PROCESSORS": total,
                "LSB_JOBNAME": asked.job_name},
    }  # fmt: skip
    values = by_scheduler[asked.scheduler]
    known: dict[str, str | Unknown] = {name: str(value) for name, value in values.items() if value is not None}
    return {"HOME": os.path.expanduser("~"), **known}


class Steps:
    """The state of a script that is followed: variables, folder and blocks; the steps and notes so far."""

    def __init__(self, asked: Allocation, *, folder: str) -> None:
        self.asked = asked
        self.variables = _initial(asked, folder)
        # PBS starts a script in the home folder, Slurm and LSF where it was submitted.
        self.folder: str | None = os.path.expanduser("~") if asked.scheduler == "pbs" else folder
        if asked.folder is not None:
            self.folder = os.path.join(folder, asked.folder)
        self.blocks: list[_Block] = []
        self.launches: list[Launch] = []
        self.unknown: list[str] = []
        self.ended = False
        self.at = 0  # place of the next word in the script

    def follow(self, words: Sequence[Word]) -> None:
        """Follow a whole script."""
        command: list[Word] = []
        before = ""
        followed = 0
        while self.at < len(words):
            word = words[self.at]
            self.at += 1
            followed += 1
            if followed == _MOST_FOLLOWED:  # loops in loops: the passes to come are left out
                self._unrolled_no_further()
            if word.operator and word.operator not in (*REDIRECTIONS, HEREDOC):
                self._command(command, before, word.operator)
                self._operator(word)
                if word.operator != NEWLINE or command or before not in ("&&", "||", "|", "|&"):
                    before = word.operator
                command = []
            else:
                command.append(word)
        self._command(command, before, NEWLINE)

    def _note(self, line: int, text: str) -> None:
        note = f"line {line}: {text}"
        if note not in self.unknown and len(self.unknown) < _MOST_NOTES:
            self.unknown.append(note)

    def _operator(self, word: Word) -> None:
        if word.operator == "(":
            self.blocks.append(_Block("(", ")", word.line, 1, kept=(dict(self.variables), self.folder)))
        elif word.operator == ")" and self.blocks and self.blocks[-1].word == "(":
            kept = self.blocks.pop().kept
            if kept is not None:
                self.variables, self.folder = kept

    def _command(self, words: list[Word], before: str, after: str) -> None:
        """Follow one simple command, between the operators ``before`` and ``after`` it."""
        words = self._without_redirections(words)
        words = self._without_reserved(words)
        if not words or self.ended:
            return
        if after == "(" and len(words) == 1:  # name() { ... }
            self.blocks.append(_Block(f"function {words[0].plain}", "}", words[0].line, None))
            return
        assigned, rest = self._assignments(words)
        if not rest:
            self._assign(assigned, before)
            return
        name = rest[0].plain or self._first(rest[0])
        base = name.rpartition("/")[2]
        if base in _BEFORE:
            launched = [at for at, word in enumerate(rest) if word.plain.rpartition("/")[2] in LAUNCHERS]
            rest = rest[launched[0] :] if launched else rest
            base = rest[0].plain.rpartition("/")[2]
        if base in LAUNCHERS:
            self._launch(rest, assigned, before, after)
        elif base in ("export", "declare", "typeset", "readonly", "local"):
            self._assign(self._assignments([word for word in rest[1:] if not word.plain.startswith("-")])[0], before)
        elif base == "unset":
            for word in rest[1:]:
                self.variables.pop(word.plain, None)
        elif base in ("cd", "pushd", "popd") and before != "||":
            self._change_folder(rest)
        elif base == "exit" and self._doubt(before) is None and not self.blocks:
            self.ended = True
        else:
            self._other(base or name, rest[0], piped=before in ("|", "|&"))

    def _without_redirections(self, words: list[Word]) -> list[Word]:
        kept: list[Word] = []
        skip = False
        for number, word in enumerate(words):
            if word.operator:
                if word.operator == "<":
                    self._note(word.line, f"input from {''.join(w.shown for w in words[number + 1 : number + 2])}")
                if kept and kept[-1].plain.isdigit():  # 2>&1
                    kept.pop()
                skip = word.operator != HEREDOC  # the lexer has taken the word behind <<
            elif skip:
                skip = False
            else:
                kept.append(word)
        return kept

    def _without_reserved(self, words: list[Word]) -> list[Word]:
        """Open and close blocks by the reserved words, and return the words of the simple command."""
        words = list(words)
        while words:
            word = words[0].plain
            block = self.blocks[-1] if self.blocks else None
            if block is not None and word == block.closing:
                if block.values:
                    self.variables[block.name] = block.values.pop(0)
                    self.at = block.body
                    return []
                self.blocks.pop()
                del words[0]
            elif block is not None and word == "{" and block.word.startswith("function") and block.closing == "}":
                del words[0]
            elif word in _PASSED:
                del words[0]
                while words and word == "time" and words[0].plain == "-p":
                    del words[0]
            elif word == "function" and len(words) > 1:
                self.blocks.append(_Block(f"function {words[1].plain}", "}", words[0].line, None))
                del words[:2]
            elif word in _OPENING:
                self.blocks.append(self._opened(word, words))
                del words[: len(words) if word in ("for", "case", "select") else 1]
            else:
                break
        return words

    def _opened(self, word: str, words: Sequence[Word]) -> _Block:
        """Return the block that a reserved word opens; a loop over a written list takes its first value."""
        made = _Block(word, _OPENING[word], words[0].line, 1 if word == "{" else None, body=self.at)
        if word != "for" or len(words) < 2:
            return made
        made.name = words[1].plain
        self.variables[made.name] = Unknown(f"changed by the loop of line {words[0].line}")
        values = self._values(words[3:]) if len(words) > 2 and words[2].plain == "in" else None
        if values:
            self.variables[made.name], made.times, made.values = values[0], 1, values[1:]
        return made

    def _values(self, words: Sequence[Word]) -> list[str] | None:
        """Return the values of a loop's list; None: a script alone does not tell."""
        values: list[str] = []
        for item in words:
            match = _RANGE.fullmatch(item.plain)
            if match:
                first, last = int(match[1]), int(match[2])
                if abs(last - first) >= _MOST_TIMES:
                    return None
                step = 1 if last >= first else -1
                values += map(str, range(first, last + step, step))
            else:
                try:
                    values += fields(item, self.variables)
                except Unknown:
                    return None
        return values if len(values) <= _MOST_TIMES else None

    def _unrolled_no_further(self) -> None:
        """Leave out the further passes of all open loops, whose number then is not known."""
        for block in self.blocks:
            if block.values:
                self._note(block.line, f"a loop with {len(block.values)} passes that are not followed")
                block.values, block.times = [], None
        self.launches = [
            replace(launch, doubt=launch.doubt or "in loops with more passes than are followed")
            for launch in self.launches
        ]

    def _first(self, word: Word) -> str:
        try:
            return next(iter(fields(word, self.variables)), "")
        except Unknown:
            return word.shown

    def _doubt(self, before: str) -> str | None:
        """Return why it is not known whether a command runs, or how often; None: it is."""
        for block in self.blocks:
            if block.times is None:
                return f"inside the {block.word} of line {block.line}"
        return "run only if the command before it fails" if before == "||" else None

    def _assignments(self, words: list[Word]) -> tuple[list[tuple[str, Word, bool]], list[Word]]:
        """Return the assignments before a command, with whether each appends, and the command."""
        made: list[tuple[str, Word, bool]] = []
        for number, word in enumerate(words):
            first = word.pieces[0] if word.pieces else None
            match = _ASSIGNED.match(first.value) if first is not None and first.kind == TEXT else None
            if match is None or first is None or first.quoted:
                return made, words[number:]
            rest = Piece(TEXT, first.value[match.end() :], False)
            made.append((match[1], Word(word.line, (rest, *word.pieces[1:])), bool(match[2])))
        return made, []

    def _value(self, name: str, word: Word, appends: bool) -> str | Unknown:
        try:
            old = self.variables.get(name, "") if appends else ""
            return old if isinstance(old, Unknown) else old + joined(word, self.variables)
        except Unknown as err:
            return err

    def _assign(self, assigned: list[tuple[str, Word, bool]], before: str) -> None:
        doubt = self._doubt(before)
        for name, word, appends in assigned:
            self.variables[name] = self._value(name, word, appends) if doubt is None else Unknown(f"assigned {doubt}")

    def _change_folder(self, words: Sequence[Word]) -> None:
        try:
            doubt = self._doubt("")
            if doubt is not None or words[0].plain == "popd":
                raise Unknown(doubt or "the folder before pushd")
            places = [text for word in words[1:] for text in fields(word, self.variables)]
            place = os.path.expanduser(places[0]) if places else os.path.expanduser("~")
            self.folder = None if self.folder is None and not os.path.isabs(place) else self._inside(place)
        except Unknown as err:
            self.folder = None
            self._note(words[0].line, f"cd to {err}")

    def _inside(self, place: str) -> str:
        return os.path.normpath(os.path.join(self.folder or "/", place))

    def _launch(self, words: list[Word], assigned: list[tuple[str, Word, bool]], before: str, after: str) -> None:
        line = words[0].line
        try:
            texts = [text for word in words for text in fields(word, self.variables)]
            made = launch_of(texts, line, self.asked)
        except Unknown as err:
            launcher = self._first(words[0]).rpartition("/")[2]
            self._add(Launch(line, launcher, 0, None, None, 1, "", (), doubt=str(err)))
            return
        if before in ("|", "|&"):
            self._note(line, "input through a pipe from a command that is not run")
        if after in ("|", "|&"):
            self._note(line, "output goes through a pipe into a command that is not run")
        threads = next((self._value(*one) for one in assigned if one[0] == "OMP_NUM_THREADS"), None)
        threads = self.variables.get("OMP_NUM_THREADS", "1") if threads is None else threads
        known = isinstance(threads, str) and threads.isascii() and threads.isdigit() and len(threads) < 6
        self._add(
            replace(
                made, folder=self.folder, threads=max(int(threads), 1) if known and isinstance(threads, str) else 1,
                beside=after == "&", doubt=self._doubt(before),
            )
        )  # fmt: skip
        if not known:
            self._note(line, f"OMP_NUM_THREADS: {threads}; one thread is taken")

    def _add(self, launch: Launch) -> None:
        """Add a step, or count the last one once more where a loop repeats it."""
        last = self.launches[-1] if self.launches else None
        if last is not None and not launch.beside and replace(last, times=1) == launch:
            self.launches[-1] = replace(last, times=last.times + 1)
        elif len(self.launches) < _MOST_LAUNCHES:
            self.launches.append(launch)
        else:
            self.launches[-1] = replace(
                self.launches[-1], doubt=f"the last of the {_MOST_LAUNCHES} steps that are read"
            )

    def _other(self, name: str, word: Word, *, piped: bool) -> None:
        """Note a command that is no step."""
        if name in _SITE:
            self._note(word.line, f"{name}: what the site's modules and files set is not known")
        elif name == "eval":
            self._note(word.line, "eval is not run")
        elif name in _FILES:
            self._note(word.line, f"{name}: time of moving files")
        elif name not in _QUICK and not piped and not (self.blocks and self.blocks[-1].word == "case"):
            self._note(word.line, f"{name[:100]}: a command without a launcher, whose time is not counted")


def groups(launches: Sequence[Launch]) -> Iterator[list[Launch]]:
    """Yield the steps that run at the same time: those with & and the one behind them."""
    group: list[Launch] = []
    for launch in launches:
        group.append(launch)
        if not launch.beside:
            yield group
            group = []
    if group:
        yield group
