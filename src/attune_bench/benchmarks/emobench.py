"""EmoBench: choices are asked in seeded orders, several samples of each; the most frequent answer counts.

An order follows from seed, scenario and part alone, so that every model and both languages of an item have the same. An
answer is read where its JSON object names one capital letter of those shown for each part; it is not asked for again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from random import Random
from statistics import fmean
from typing import Any, ClassVar, Literal

import polars as pl
from typing_extensions import Unpack

from attune_bench.runner.calls import TEXT, Call, choice_schema, message, object_schema
from attune_bench.runner.task import ModelSettings, Task, find_object
from attune_bench.scores.columns import Analysis, FrameColumn, columns
from attune_bench.scores.records import score_items
from attune_bench.scores.table import ScoreTable
from attune_bench.scores.tables_in import score_table
from attune_bench.stats.options import AnalysisKeywords
from attune_bench.stats.summary import summary
from attune_data.emobench import LETTERS, PREDICTION, EmoBenchItem, EmoBenchPrediction, Part
from attune_data.text import plural
from attune_metrics.emobench import majority_accuracy

_KEYS: Mapping[Part, str] = {"answer": "answer", "emotion": "answer_q1", "cause": "answer_q2"}
_WORDS = {"unit": "item", "cluster": "scenario"}
Places = dict[Part, tuple[int, list[int]]]
"""By part the place of the right choice, and those that the samples named, -1 for what cannot be read."""


@dataclass(frozen=True, slots=True)
class EmoBenchSettings(ModelSettings):
    """How a model is asked: `ModelSettings`, and in how many orders of the choices and how often in each."""

    temperature: float | None = 0.7
    reasoning: bool = False
    orders: int = 4
    samples_per_order: int = 5
    shuffle: int = 0

    bundled: ClassVar[tuple[str, str]] = ("attune_bench.benchmarks", "emobench-v1")

    def __post_init__(self) -> None:
        ModelSettings.__post_init__(self)
        if min(self.orders, self.samples_per_order) < 1:
            raise ValueError("orders and samples_per_order have to be 1 or more")

    @property
    def condition(self) -> Literal["plain", "reasoning"]:
        """The condition that the model is evaluated in."""
        return "reasoning" if self.reasoning else "plain"


def _shown(item: EmoBenchItem, order: int, shuffle: int) -> dict[Part, str]:
    """Return by part the letters of its choices in the order they are shown in."""
    found: dict[Part, str] = {}
    for part, (choices, _) in item.questions.items():
        source = Random(f"{shuffle}/{item.scenario_id}/{part}/{order}")  # noqa: S311  # nothing to guess
        found[part] = "".join(source.sample(LETTERS[: len(choices)], len(choices)))
    return found


def _calls(item: EmoBenchItem, settings: EmoBenchSettings, _: Mapping[str, str] | None) -> list[Call]:
    path = f"{item.language}/{item.task.lower()}"
    system = [settings.render(f"{path}_{name}") for name in ("system", settings.condition)]
    asked = {"scenario": item.scenario, "subject": item.subject}
    if item.task == "EA":
        asked["kind"] = settings.render(f"{item.language}/{(item.question_type or 'Action').lower()}")
    found = []
    for order in range(settings.orders):
        schema = {"reasoning": TEXT} if settings.reasoning else {}
        for part, shown in _shown(item, order, settings.shuffle).items():
            texts = dict(zip(LETTERS, (" ".join(one.splitlines()) for one in item.questions[part][0]), strict=False))
            asked[f"{part}_choices"] = "\n".join(f"{LETTERS[at]}) {texts[own]}" for at, own in enumerate(shown))
            schema[_KEYS[part]] = choice_schema(LETTERS[: len(shown)])
        said = message("system", "\n\n".join(system)), message("user", settings.render(f"{path}_user", **asked))
        for sample in range(settings.samples_per_order):
            name = f"order-{order}/sample-{sample}"
            found.append(Call(name, settings.model, "model", said, object_schema(schema), sample=sample))
    return found


def _assemble(item: EmoBenchItem, answers: Mapping[str, str], settings: EmoBenchSettings) -> EmoBenchPrediction:
    found: Any = []
    for order in range(settings.orders):
        said = [answers[f"order-{order}/sample-{sample}"] for sample in range(settings.samples_per_order)]
        shown, named = _shown(item, order, settings.shuffle), {}
        for part, letters in shown.items():
            values = [one and one.value.get(_KEYS[part]) for one in map(find_object, said)]
            named[part] = [value if value in [*LETTERS[: len(letters)]] else None for value in values]
        found.append({"shown": shown, "predictions": named})
    return EmoBenchPrediction(item=item.id, model=settings.model, condition=settings.condition, answers=found)


def _answers_read(prediction: Mapping[str, Any]) -> Iterator[bool]:
    """Yield for each answer that a prediction was made of whether a choice could be read from it."""
    for order in prediction["answers"]:
        for letters in zip(*order["predictions"].values(), strict=True):
            yield any(letter is not None for letter in letters)


TASK: Task[EmoBenchItem, EmoBenchSettings] = Task(
    name="emobench",
    calls=_calls,
    assemble=_assemble,
    settings=EmoBenchSettings,
    unit="item",
    fields=lambda _, settings, source: {**settings.provenance(), "provider": source.providers["model"]},
    tries=lambda _: 1,
    answers_read=_answers_read,
    unusable=lambda item: item.fault,
    repeatable=False,  # orders and samples_per_order ask an item several times
)


def row(prediction: EmoBenchPrediction) -> tuple[str, str, str]:
    """Return the model, the condition and the item of a prediction: its row in the scores."""
    return prediction.model, prediction.condition, prediction.item


def _places(item: EmoBenchItem, prediction: EmoBenchPrediction) -> Iterator[Places]:
    """Yield the places of each order that has every part."""
    for answer in prediction.answers:
        parts: Places = {}
        for part, (choices, label) in item.questions.items():
            own = LETTERS[: len(choices)]
            shown, named = answer.shown.get(part, own), answer.predictions.get(part, ())
            if named and sorted(shown) == [*own]:
                places = [-1 if letter is None else LETTERS.index(letter) for letter in named]
                parts[part] = shown.index(own[choices.index(label)]), places
        if len(parts) == len(item.questions):
            yield parts


def _parts(item: EmoBenchItem) -> dict[str, tuple[Part, ...]]:
    """Return by metric the parts of an item that have to be right."""
    whole = tuple(item.questions)
    single: dict[str, tuple[Part, ...]] = {f"eu_{part}_accuracy": (part,) for part in whole if item.task == "EU"}
    return {"item_accuracy": whole, f"{item.task.lower()}_accuracy": whole, **single}


def _values(item: EmoBenchItem, prediction: EmoBenchPrediction) -> dict[str, list[float | None]]:
    found: dict[str, list[float | None]] = {}
    orders = list(_places(item, prediction))
    for name, parts in _parts(item).items():
        pairs = (tuple(zip(*(order[part] for part in parts), strict=True)) for order in orders)
        found[name] = [majority_accuracy(labels, named) for labels, named in pairs] or [None]
    return found


def _chance(item: EmoBenchItem) -> dict[str, float]:
    """Return what random letters score: each choice is as likely as any to be the most frequent."""
    return {name: 1 / prod(len(item.questions[part][0]) for part in parts) for name, parts in _parts(item).items()}


def score(
    items: Iterable[EmoBenchItem],
    predictions: Iterable[EmoBenchPrediction],
    *,
    progress: Callable[[int], object] | None = None,
) -> ScoreTable:
    """Score predictions: in each order of the choices the most frequent answer, of each item the mean over orders.

    An item without one right choice is not scored; an order that lacks a part, or shows other letters than the item has
    choices, does not count, which a note says. Orders are repeats, the two languages of an item are one cluster. Raises
    what `score_items` does.
    """
    known, given = {item.id: item for item in items if not item.fault}, list(predictions)
    scores = score_items(
        known.values(), given, _values, row=row, cluster="scenario_id", chance=_chance, words=_WORDS, progress=progress,
        traits=("task", "language", "coarse_category", "category", "question_type"),
    )  # fmt: skip
    orders = sum(len(one.answers) - len([*_places(known[one.item], one)]) for one in given if one.item in known)
    unlike = f"Left out: {plural(orders, 'order')} of choices that lack a part or are not the item's."
    return scores.note(unlike) if orders else scores


def position_bias(
    scores: ScoreTable,
    *,
    data: Iterable[EmoBenchItem],
    results: Iterable[EmoBenchPrediction],
    **options: Unpack[AnalysisKeywords],
) -> pl.DataFrame:
    """Return how much more often a model names a letter than that letter is right, by part of the items.

    A frame as of `Scores.summary`; the ``letter`` ``emotion A`` has the share of readable answers on the emotion that
    name A, minus the share of orders in which A is right; 0 for a model without a preference.
    """
    known, rows = {item.id: item for item in data if not item.fault}, []
    for item, one in ((known[one.item], one) for one in results if one.item in known and one.model in scores.models):
        for part, (choices, _) in item.questions.items():
            read = [(order[part][0], [at for at in order[part][1] if at >= 0]) for order in _places(item, one)]
            for place, letter in enumerate(LETTERS[: len(choices)]):
                found = [named.count(place) / len(named) - (place == right) for right, named in read if named]
                rows += [(*row(one), item.scenario_id, f"{part} {letter}", fmean(found))] if found else []
    frame = pl.DataFrame(rows, schema=["model", "condition", "unit", "cluster", "metric", "value"], orient="row")
    return summary(score_table(frame, about=_WORDS), **options).rename({"metric": "letter"})


ANALYSES: Mapping[str, Analysis] = {
    "position_bias": Analysis(
        function=position_bias,
        title="Preference for letters",
        note="Value: the share of answers that name a letter, minus the share of orders in which it is right.",
        takes_metrics=False,
        needs=("data", "results"),
        estimate="value",
        row="a model, condition and letter",
        columns=columns(
            "model condition letter value low high n clusters coverage excluded reason",
            value=FrameColumn("Share of the answers minus share of the orders.", low=-1, high=1, signed=True),
        ),
    )
}


def _baseline(name: str, items: Iterable[EmoBenchItem], letters: Callable[[EmoBenchItem], Mapping[Part, str]]) -> Any:
    found = []
    for item in (item for item in items if not item.fault):
        answers: Any = [{"predictions": {part: [letter[0]] for part, letter in letters(item).items()}}]
        found.append(EmoBenchPrediction(item=item.id, model=f"baseline/{name}", answers=answers))
    return PREDICTION.collection(found)


BASELINES: Mapping[str, Callable[..., Any]] = {
    "chance": lambda items, *, seed=0: _baseline("chance", items, lambda item: _shown(item, 0, seed)),
    "first": lambda items: _baseline("first", items, lambda item: dict.fromkeys(item.questions, "A")),
}
"""Predictors without a model, of the items that are scored: random letters, by seed and scenario alone; always A."""
