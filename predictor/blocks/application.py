"""Applications as blocks of computation and communication: labelled processes, each label with its program.

The applications follow those of MERPSYS (J. Proficz, P. Czarnul, "Performance and Power-Aware Modeling of MPI
Applications for Cluster Computing", section 3).  ``predictor/blocks/description.py`` reads them from TOML files; in
Python::

    Application(
        "master-slave",
        variables={"rounds": 10, "task_bytes": 2**20},
        labels=(
            Label("master", 1, (Repeat("rounds", (Send("slave", "task_bytes"), Receive("slave"))),)),
            Label("slave", 64, (Repeat("rounds", (Receive("master"), Compute("2e9"), Send("master", 8))),)),
        ),
    )

Numbers are expressions (predictor/blocks/expressions.py).  They may use the variables, the names of the labels (each
stands for the number of processes of the label) and ``index``, the number of the process within its label, from 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, cast

from platforms.errors import UserError, inside, nearest
from predictor.blocks.checks import check_labels, check_name, check_named_steps, check_requests, place_names
from predictor.blocks.expansion import Expansion
from predictor.blocks.expressions import Expression, processes
from predictor.blocks.given import Given, check_names, definitions, parsed
from predictor.blocks.parsing import place_of
from predictor.blocks.places import label_place
from predictor.blocks.programs import Collective, Label, NamedSteps, Number, names_set
from predictor.blocks.progression import Progression

MOST_PROCESSES = 2**40  # largest number of processes of a label


@dataclass(frozen=True)
class Application:
    """Labels, and the variables that their programs use.

    Raises:
        UserError: When the application is created and something in it is wrong; the error names the element.
    """

    name: str
    labels: tuple[Label, ...]  # after creation, their programs have only steps that evaluators know (expansion.py)
    variables: Mapping[str, Given] = field(default_factory=dict, hash=False)  # numbers, and lists of numbers
    where: str = ""  # the file, for error messages
    steps: tuple[NamedSteps, ...] = ()
    functions: Mapping[str, Number] = field(default_factory=dict, hash=False)  # by head, such as "cost(n, k)"
    given: tuple[Label, ...] = field(init=False, compare=False, repr=False)  # the labels before their expansion
    _expanded: tuple[Label, ...] = field(init=False, compare=False, repr=False)  # the given labels, expanded
    _helpers: Mapping[str, Expression] = field(init=False, compare=False, repr=False)  # of lists and functions
    _own: Mapping[str, Expression] = field(init=False, compare=False, repr=False)  # what differs by process
    _numbers: Mapping[str, float] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        where = self.where or f"application {self.name!r}"
        self._set(where=where, given=self.labels)
        self._set(variables={name: parsed(value, self._variable(name)) for name, value in self.variables.items()})
        if not self.labels:
            raise UserError(where, "no labels", "Give at least one, with count and program")
        names = [*self.variables, *(label.name for label in self.labels)]
        for name in names:
            check_name(name, where)
            if names.count(name) > 1:
                raise UserError(where, f"the name {name!r} is given twice", "Rename one of them")
        labels = [label.name for label in self.labels]
        self._set(_helpers=definitions(self._parsed, self.functions, labels, where))
        variables = {**self._singles(), **self._helpers}
        known = frozenset((*variables, *labels))
        check_names(variables, known | {"index"} | place_names(self.labels), self.functions, where)
        self._set(_own=self._differing())
        states = frozenset().union(*(names_set(some.program) for some in self.labels), *map(_named_set, self.steps))
        check_named_steps(self.steps, self.labels, known, states, where)
        check_labels(self.labels, self.steps, known, self._own, where)
        self._set(_numbers=self._evaluated())
        expansion = Expansion({step.name: step for step in self.steps}, {**self._helpers, **self._own}, known, states)
        self._set(labels=tuple(expansion.expanded(label, where) for label in self.labels))
        for label in self.labels:
            check_requests(label.program, label_place(where, label.name))
        self._set(_expanded=self.labels)

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _variable(self, name: str) -> str:
        return inside(self.where, f", variable {name}", "variables", name)

    @property
    def _parsed(self) -> Mapping[str, Expression | tuple[Expression, ...]]:
        return cast(Mapping[str, Expression | tuple[Expression, ...]], self.variables)  # since __post_init__

    def _singles(self) -> dict[str, Expression]:
        """Return the variables without lists."""
        return {name: value for name, value in self._parsed.items() if isinstance(value, Expression)}

    def _differing(self) -> dict[str, Expression]:
        """Return the variables, lists and functions whose values differ by process.

        They use ``index`` or a place in a grid.  The keys are names in expressions.
        """
        variables = {**self._singles(), **self._helpers}
        places = {"index"} | place_names(self.labels)
        differing: set[str] = set()
        while new := {
            n for n, variable in variables.items() if n not in differing and variable.names & (places | differing)
        }:
            differing |= new
        return {name: variable for name, variable in variables.items() if name in differing}

    def label(self, name: str) -> Label:
        """Return the label of this name."""
        return next(label for label in self.labels if label.name == name)

    def numbers(self) -> dict[str, float]:
        """Return the value of every variable and the number of processes of every label, by name.

        Variables that each process has for itself are left out.
        """
        return dict(self._numbers)

    def _evaluated(self) -> dict[str, float]:
        """Return what ``numbers`` returns.

        Raises:
            UserError: If a variable or a count has no valid value.
        """
        values: dict[str, float] = {}
        open_names: list[str] = []
        variables, helpers = self._own, self._helpers
        given = (*self._singles().items(), *((label.name, label.count) for label in self.labels))
        expressions = {
            name: Expression.of(value) for name, value in given if value is not None and name not in variables
        }
        for name, expression in expressions.items():
            self._check_same(name, expression, variables)
            expressions[name] = expression.defined(helpers, together=True)

        def find(name: str) -> None:
            if name in values:
                return
            is_label = name not in self.variables
            where = self._place(name)
            if name in open_names:
                circle = ", ".join((*open_names, name))
                raise UserError(where, f"defined in terms of itself: {circle}", "Give one of them a number")
            open_names.append(name)
            for other in sorted(expressions[name].names):
                find(other)
            open_names.pop()
            value = expressions[name].whole(values, where) if is_label else expressions[name].value(values, where)
            if isinstance(value, Progression):  # impossible: no name stands for a progression
                raise value.split_all()
            if is_label and value > MOST_PROCESSES:
                raise UserError(where, f"{value} processes", f"Give at most {MOST_PROCESSES}")
            values[name] = value

        for name in expressions:
            find(name)
        for label in self.labels:
            if label.grid:
                places = processes([Expression.of(extent) for extent in label.grid]).defined(helpers, together=True)
                size = places.value(values, self.where)
                if size != values[label.name]:
                    problem = f"{values[label.name]:g} processes on a grid of {size}"
                    raise UserError(label_place(self.where, label.name), problem, "Change the grid too")
        return values

    def _place(self, name: str) -> str:
        return self._variable(name) if name in self.variables else label_place(self.where, name, "count")

    def _check_same(self, name: str, expression: Expression, variables: Mapping[str, Expression]) -> None:
        """Refuse a variable or a count that uses what differs by process."""
        if differing := sorted(expression.names & variables.keys()):
            problem = f"{place_of(differing[0])} differs by process"
            raise UserError(self._place(name), problem, "Use variables without index here")

    def counts(self) -> dict[str, int]:
        """Return the number of processes of each label."""
        return {label.name: int(self._numbers[label.name]) for label in self.labels}

    def changed(
        self, *, counts: Mapping[str, Number] | None = None, variables: Mapping[str, Given] | None = None
    ) -> Application:
        """Return a copy with other numbers of processes and other values of variables.

        Args:
            counts: Numbers of processes, by label.
            variables: Values, by variable.

        Raises:
            UserError: If a label or a variable is unknown.
        """
        counts, variables = counts or {}, variables or {}
        for kind, given, known in (
            ("label", counts, [label.name for label in self.labels]), ("variable", variables, list(self.variables)),
        ):  # fmt: skip
            for name in given:
                if name not in known:
                    raise UserError(self.where, f"no {kind} {name!r}", nearest(name, known) if known else "It has none")
        labels = tuple(
            replace(label, count=counts[label.name]) if label.name in counts else label for label in self.given
        )
        values = {name: parsed(value, self._variable(name)) for name, value in variables.items()}
        if self._is_alike(labels, values):
            return self._with_numbers(labels, values)
        return replace(self, labels=labels, variables={**self.variables, **values})

    def _is_alike(self, labels: tuple[Label, ...], values: Mapping[str, Expression | tuple[Expression, ...]]) -> bool:
        """Return whether no check and no expansion would give another result with these counts and variables.

        This holds where each expression uses the names that the one before it uses: programs name the variables, and
        contain the definitions only of lists, functions and what differs by process.
        """
        pairs: list[tuple[object, object]] = [(values[name], self._parsed[name]) for name in values]
        pairs += [(new.count, old.count) for new, old in zip(labels, self.given, strict=True) if new is not old]
        return self._own.keys().isdisjoint(values) and all(
            isinstance(new, Expression) and isinstance(old, Expression) and new.names == old.names for new, old in pairs
        )

    def _with_numbers(self, labels: tuple[Label, ...], values: Mapping[str, Any]) -> Application:
        """Return a copy with the counts of other labels and these variables, without checking the programs again."""
        expanded = tuple(
            other if label is before else replace(other, count=label.count)
            for label, before, other in zip(labels, self.given, self._expanded, strict=True)
        )
        made = copy(self)
        made._set(given=labels, labels=expanded, _expanded=expanded, variables={**self.variables, **values})
        made._set(_numbers=made._evaluated())
        return made

    @property
    def is_placed(self) -> bool:
        """True if the labels have the efficiencies of the units that their processes are placed on."""
        return self.labels is not self._expanded

    def with_labels(self, labels: tuple[Label, ...]) -> Application:
        """Return a copy with the programs of other labels; ``changed`` still begins with the labels of this one."""
        made = replace(self, labels=labels)
        made._set(given=self.given, _expanded=self._expanded)
        return made


def _named_set(steps: NamedSteps) -> frozenset[str]:
    return names_set(steps.steps)


def members_of(step: Collective, application: Application) -> tuple[str, ...]:
    """Return the labels that take part in a collective, in the application's order."""
    return tuple(label.name for label in application.labels if not step.among or label.name in step.among)
