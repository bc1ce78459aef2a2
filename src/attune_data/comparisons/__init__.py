"""Comparisons in pairs: a judge saw the answers of two models to one unit, and said which is better.

A record is one verdict, by one judge, in one order, by one criterion where there are several. Models, people and
programs judge alike.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field, Strict

from attune_data.collection import record_kind
from attune_data.record import Length, Number, Repeat, SnakeCaseRecord, repeat_suffix
from attune_data.repair import IssueCollector

TIES = frozenset(
    ("tie", "tied", "draw", "equal", "both", "neither", "bothbad", "tie (bothbad)", "tie_bothbad", "both_bad")
)
"""What a winner is called where neither side won, in lower case."""

SIDES = {"a": ("a", "model_a", "left"), "b": ("b", "model_b", "right")}
"""What a winner may be called in the place of a model's name, in lower case."""


class Comparison(SnakeCaseRecord):
    """The verdict of a judge on the answers of two models to one unit.

    Examples
    --------
    >>> vote = Comparison(unit="q1", a="large", b="small", winner="small", first="large")
    >>> vote.outcome, vote.id
    (0.0, 'q1: large vs small, large first')
    """

    column_properties: ClassVar[tuple[str, ...]] = ("outcome",)

    unit: str = Field(min_length=1, description="What both models answered: a question, a scenario, a prompt.")
    a: str = Field(min_length=1, description="The model on side a.")
    b: str = Field(min_length=1, description="The model on side b.")
    winner: str | None = Field(
        None, description="The model that won, its side (`a` or `b`), or `tie`; empty where `margin` says it."
    )
    margin: Number | None = Field(
        None,
        description="How much better the answer of `a` is; negative where the answer of `b` is better, 0 for a tie.",
    )
    first: str | None = Field(None, description="The model that the judge saw first, or its side.")
    judge: str | None = Field(None, description="Who judged; `human` or `human/NAME` for people.")
    criterion: str | None = Field(None, description="What was judged; empty for the answer as a whole.")
    length_a: Length | None = Field(None, description="Length of the answer of `a`, in any one unit.")
    length_b: Length | None = Field(None, description="Length of the answer of `b`, in the same unit.")
    family_a: str | None = Field(None, description="The family of `a`, such as its vendor; the same in all rows.")
    family_b: str | None = Field(None, description="The family of `b`; the same in all rows.")
    judge_family: str | None = Field(None, description="The family of the judge; empty for people.")
    cluster: str | None = Field(None, description="What units that are not independent share, such as a story.")
    repeat: Repeat = Field(1, description="Which time, where a judge was asked several times; from 1.")
    synthetic: Annotated[bool, Strict()] = Field(False, description="Whether it is invented for demonstration.")

    @property
    def id(self) -> str:
        """Unit, sides, judge, criterion, order and repeat, as far as they are given."""
        named = [f"{self.unit}: {self.a} vs {self.b}", self.judge, self.criterion, self.shown and f"{self.shown} first"]
        return ", ".join(filter(None, named)) + repeat_suffix(self.repeat)

    @property
    def shown(self) -> str | None:
        """The model that the judge saw first; None where that is not known."""
        return self._model(self.first)

    @property
    def outcome(self) -> float | None:
        """`a` won: 1; `b` won: 0; a tie: 0.5; none without a verdict, or where there is a `fault`."""
        return None if self.fault else self._verdict

    @property
    def _verdict(self) -> float | None:
        if self.winner is None:
            return None if self.margin is None else (1 + (self.margin > 0) - (self.margin < 0)) / 2
        won = self._model(self.winner)
        return 0.5 if won is None else float(won == self.a)

    @property
    def fault(self) -> str:
        """Why the comparison cannot be scored although it has a verdict; empty where nothing is wrong."""
        if self.a == self.b:
            return f"{self.a!r} is compared with itself; a and b are two models"
        for name in ("winner", "first"):
            given = getattr(self, name)
            is_tie = name == "winner" and given is not None and given.strip().lower() in TIES
            if given is not None and not is_tie and self._model(given) is None:
                also = ", a or b" if name == "first" else ", a, b or tie"
                return f"{name} is {given!r}; expected {self.a!r}, {self.b!r}{also}"
        if self.winner is not None and self.margin is not None:
            of_margin = (1 + (self.margin > 0) - (self.margin < 0)) / 2
            if of_margin != self._verdict:
                side = {1.0: self.a, 0.0: self.b, 0.5: "neither"}[of_margin]
                said = f"winner is {self.winner!r} and margin {self.margin:g}, by which {side} won"
                return f"{said}; a margin above 0 is for a"
        return ""

    def _model(self, given: str | None) -> str | None:
        """Return the model that a name or a side means; None for neither."""
        if given is None or given in (self.a, self.b):
            return given
        side = given.strip().lower()
        return self.a if side in SIDES["a"] else self.b if side in SIDES["b"] else None


def _check(comparison: Comparison, findings: IssueCollector) -> None:
    """Report a comparison that cannot be scored, and one without a verdict."""
    if comparison.fault:
        findings.add("$", "faulty-comparison", "error", None, comparison.fault, "kept; score refuses it")
    elif comparison.outcome is None:
        message = "neither winner nor margin; a tie is written tie"
        findings.add("$", "no-verdict", "note", None, message, "kept; not scored")


def _key(comparison: Comparison) -> object:
    """Return what no two comparisons share; where the order is known, the sides may be swapped."""
    sides = (comparison.a, comparison.b)
    pair = sides if comparison.shown is None else tuple(sorted(sides))
    told = comparison.judge, comparison.criterion, comparison.shown, comparison.repeat
    return comparison.unit, pair, *told


def _is_other(document: Mapping[str, Any]) -> bool:
    return not {"unit", "a", "b"} <= document.keys()


COMPARISON = record_kind(
    Comparison,
    noun="comparison",
    plural="comparisons",
    keys=frozenset(("winner", "margin")),
    docs="comparisons.md",
    is_other=_is_other,
    check=_check,
    key=_key,
    identity="unit, sides, judge, criterion, order and repeat",
    demo="comparisons/demo.jsonl.bz2",
    cluster="cluster",
)
