"""The job `rate`: people rate texts, or compare two side by side, without knowing who wrote them."""

import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from statistics import fmean

import polars as pl

from attune_bench.annotate.rated import Group, Rated, RatedPair, RatedText, Talk
from attune_bench.annotate.screens import Choice, Option, Passage, Said, Screen
from attune_bench.annotate.store import Person, Store, Value
from attune_bench.annotate.texts import LANGUAGES, Texts
from attune_data.export import to_csv
from attune_data.io.documents import write_whole

LARGEST_MARGIN = 3
"""How much better one of two texts can be called; 0 is a tie."""

FIELD = "rating"
"""The field of a screen, whatever is rated."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The steps that people choose from, and the ratings that are written for them.

    Attributes
    ----------
    low, high : float
        The rating of the first and of the last step: the range of the metric that is rated.
    steps : int
        How many steps there are, 2 or more.

    Examples
    --------
    >>> scale = Scale(0, 1, 5)
    >>> [scale.rating(step) for step in (1, 2, 5)]
    [0.0, 0.25, 1.0]
    """

    low: float
    high: float
    steps: int

    def rating(self, step: int) -> float:
        """Return the rating of a step, from 1."""
        return self.low + (self.high - self.low) * (step - 1) / (self.steps - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a person gave an item.

    Attributes
    ----------
    rater : str
        Who.
    item : RatedText or RatedPair
        What.
    step : int
        The step of the scale, from 1; of a pair how much better ``a`` is, negative where ``b`` is.
    first : str or None
        Of a pair the model whose text was shown first.
    seconds : float or None
        How long it took.
    """

    rater: str
    item: Rated
    step: int
    first: str | None = None
    seconds: float | None = None


class RateJob:
    """Texts to rate, or pairs to compare, in another random order for each person.

    The order, and which text of a pair stands first, follow from the id of the person, the item and a secret: they stay
    the same when the person goes on. The key of a screen tells nothing of the item to who does not know the secret.

    Parameters
    ----------
    items : sequence of RatedText or of RatedPair
        What people rate.
    scale : Scale, optional
        Of texts.
    dimension : str
        What ratings are of, as the table of ratings calls it.
    question : str, optional
        What people are asked, in the place of the question that the interface has in each language.

    Attributes
    ----------
    secret : str
        Of the study, which no page shows; set before the first screen.
    """

    name = "rate"
    secret = ""
    languages = tuple(LANGUAGES)

    def __init__(
        self,
        items: Sequence[Rated],
        *,
        scale: Scale | None = None,
        dimension: str = "rating",
        question: str | None = None,
    ) -> None:
        self.items = items
        self.scale = scale
        self.dimension = dimension
        self.question = question
        self._kind = "compare" if scale is None else "rate"
        self.order = lru_cache(maxsize=128)(self._order)

    def title(self, language: str) -> str:
        """Return what pages call the study."""
        return Texts(language)(f"{self._kind}_title")

    def seed(self, person: str) -> str:
        """Return what decides the order of the person with an id."""
        return _hash(self.secret, person)

    def _order(self, seed: str) -> list[tuple[str, Rated]]:
        """Return the key of each screen and its item, in the order of a person's `seed`.

        Units are in random order, so that who stops early has rated a random part. The texts of a unit follow each
        other, part by part, as their conversation goes on; the models of each part are in random order.
        """
        placed = [
            (_hash(seed, item.unit), getattr(item, "part", "").zfill(9), _hash(seed, item.id), item)
            for item in self.items
        ]
        return [(key[:16], item) for _, _, key, item in sorted(placed, key=lambda one: one[:3])]

    def field(self, texts: Texts) -> Choice:
        """Return the question of every item."""
        field = _verdict(texts) if self.scale is None else _steps(self.scale, texts)
        return replace(field, label=self.question or field.label)

    def screens(self, person: Person, answers: Mapping[str, Value], texts: Texts) -> list[Screen]:
        """Return the screens of a person: what the person is about to do, and one for each item."""
        del answers
        count = len(self.items)
        start = Screen(key="start", title=self.title(texts.language), lead=texts(f"{self._kind}_lead", count=count))
        field, seed = self.field(texts), self.seed(person.id)
        found = [start]
        for number, (key, item) in enumerate(self.order(seed), 1):
            title = texts(f"{self._kind}_item", number=number, count=count)
            talk = _talk(item.talk, texts.language)
            is_swapped = isinstance(item, RatedPair) and not _shows_a_first(seed, item)
            if isinstance(item, RatedText):
                passages: tuple[Passage, ...] = (Passage(texts("response"), item.text),)
                lead = ""
            else:
                shown = (item.text_b, item.text_a) if is_swapped else (item.text_a, item.text_b)
                names = texts("compare_first"), texts("compare_second")
                passages = tuple(map(Passage, names, shown))
                lead = item.criterion or ""
            found.append(
                Screen(
                    key=key, title=title, lead=lead, fields=(field,), talk=talk, passages=passages, unit=item.id,
                    is_swapped=is_swapped,
                )
            )  # fmt: skip
        return found

    def given(self, store: Store) -> list[Given]:
        """Return what everybody gave every item that they are done with, in the order of the items."""
        found: list[Given] = []
        for person in store.people():
            saved, seed = store.answers(person.id), self.seed(person.id)
            for key, item in self.order(seed):
                if (answer := saved.get(key)) is not None and answer.done:
                    rater, seconds = person.name or person.id, round(answer.seconds, 1)
                    found.append(given_to(item, answer.value[FIELD], seed, rater=rater, seconds=seconds))
        return in_order(found, self.items)

    def export(self, store: Store, folder: Path) -> list[Path]:
        """Write the tables of `write_tables`; none before the first rating."""
        return write_tables(self.given(store), self.items, folder, scale=self.scale, dimension=self.dimension)


def given_to(item: Rated, value: str, seed: str, *, rater: str, seconds: float | None = None) -> Given:
    """Return what a person gave an item by an option of its screen.

    Parameters
    ----------
    item : RatedText or RatedPair
        What was rated.
    value : str
        The value of the option.
    seed : str
        As of `RateJob.seed`.
    rater : str
        What tables call the person.
    seconds : float, optional
        How long it took.
    """
    if isinstance(item, RatedText):
        return Given(rater=rater, item=item, step=int(value), seconds=seconds)
    step, first = (int(value), item.a) if _shows_a_first(seed, item) else (-int(value), item.b)
    return Given(rater=rater, item=item, step=step, first=first, seconds=seconds)


def in_order(given: Iterable[Given], items: Iterable[Rated]) -> list[Given]:
    """Return what people gave in the order of the items."""
    places = {item.id: place for place, item in enumerate(items)}
    return sorted(given, key=lambda one: places[one.item.id])


def write_tables(
    given: Sequence[Given], items: Sequence[Rated], folder: Path, *, scale: Scale | None, dimension: str = "rating"
) -> list[Path]:
    """Write what people gave as the tables that other commands read.

    Parameters
    ----------
    given : sequence of Given
        What people gave.
    items : sequence of RatedText or of RatedPair
        What they were asked about.
    folder : path
        Where the tables are written.
    scale : Scale or None
        Of texts; None for pairs.
    dimension : str
        What ratings are of.

    Returns
    -------
    list of path
        Of texts ``labels.csv``, which `attune_bench.stats.labels.read_labels` reads, and ``ratings.csv``, which
        `attune_bench.stats.judges.read_ratings` reads; of pairs ``comparisons.csv``, which
        `attune_bench.scores.pair_tables.read_comparisons` reads. Nothing where nobody gave anything.
    """
    if not given:
        return []
    if scale is None:
        tables = {"comparisons.csv": comparison_frame(given)}
    else:
        tables = {
            "labels.csv": label_frame(given, [item for item in items if isinstance(item, RatedText)], scale),
            "ratings.csv": rating_frame(given, scale, dimension),
        }
    for name, frame in tables.items():
        write_whole(folder / name, [to_csv(frame).encode()])
    return [folder / name for name in tables]


def label_frame(given: Iterable[Given], texts: Iterable[RatedText], scale: Scale) -> pl.DataFrame:
    """Return one rating of each model on each unit: the mean of the raters, each the mean of the unit's texts.

    A rater counts who rated all texts of the model on the unit; a unit that nobody rated whole has no rating.

    Examples
    --------
    >>> text = RatedText(model="large", unit="q1", text="Yes.")
    >>> given = [Given(rater=rater, item=text, step=step) for rater, step in (("ann", 2), ("bob", 5))]
    >>> label_frame(given, [text], Scale(0, 1, 5)).row(0, named=True)
    {'model': 'large', 'unit': 'q1', 'rating': 0.625, 'raters': 2}
    """
    parts: dict[Group, int] = {}
    for text in texts:
        parts[text.group] = parts.get(text.group, 0) + 1
    rated: dict[Group, dict[str, list[float]]] = {}
    for one in given:
        if isinstance(one.item, RatedText):
            rated.setdefault(one.item.group, {}).setdefault(one.rater, []).append(scale.rating(one.step))
    rows = []
    for group, count in parts.items():
        whole = [fmean(ratings) for ratings in rated.get(group, {}).values() if len(ratings) == count]
        rows.append((*group, fmean(whole) if whole else None, len(whole)))
    schema = {"model": pl.String, "condition": pl.String, "unit": pl.String, "rating": pl.Float64, "raters": pl.Int64}
    return _without_empty(pl.DataFrame(rows, schema=schema, orient="row"), "condition")


def rating_frame(given: Iterable[Given], scale: Scale, dimension: str) -> pl.DataFrame:
    """Return a row for each text and rater; texts of one unit, or of its cluster, belong together.

    Examples
    --------
    >>> text = RatedText(model="large", unit="q1", text="Yes.")
    >>> rating_frame([Given(rater="ann", item=text, step=2)], Scale(0, 1, 5), "warmth").row(0)
    ('q1/large', 'ann', 'warmth', 0.25, 'q1', 'large', 'q1', 2)
    """
    rows = [
        {
            "item": one.item.id, "rater": one.rater, "dimension": dimension, "rating": scale.rating(one.step),
            "cluster": one.item.cluster or one.item.unit, "model": one.item.model, "condition": one.item.condition,
            "unit": one.item.unit, "part": one.item.part or None, "step": one.step, "seconds": one.seconds,
        }
        for one in given
        if isinstance(one.item, RatedText)
    ]  # fmt: skip
    frame = pl.DataFrame(rows, schema_overrides={"condition": pl.String, "part": pl.String, "seconds": pl.Float64})
    return _without_empty(frame, "condition", "part", "seconds")


def comparison_frame(given: Iterable[Given]) -> pl.DataFrame:
    """Return a row for each pair and rater, as `attune_data.comparisons.Comparison` has it.

    Examples
    --------
    >>> pair = RatedPair(unit="q1", a="large", b="small", text_a="Yes.", text_b="No.")
    >>> frame = comparison_frame([Given(rater="ann", item=pair, step=-2, first="large")])
    >>> frame.select("unit", "a", "b", "winner", "margin", "first", "judge").row(0)
    ('q1', 'large', 'small', 'small', -2, 'large', 'human/ann')
    """
    rows = [
        {
            "unit": one.item.unit, "a": one.item.a, "b": one.item.b,
            "winner": one.item.a if one.step > 0 else one.item.b if one.step < 0 else "tie", "margin": one.step,
            "first": one.first, "judge": f"human/{one.rater}", "criterion": one.item.criterion,
            "length_a": len(one.item.text_a), "length_b": len(one.item.text_b), **one.item.columns,
        }
        for one in given
        if isinstance(one.item, RatedPair)
    ]  # fmt: skip
    overrides = {"criterion": pl.String, "first": pl.String}
    frame = pl.DataFrame(rows, schema_overrides=overrides, infer_schema_length=None)
    return _without_empty(frame, "criterion", "first")


def _without_empty(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    return frame.drop(column for column in columns if frame[column].null_count() == frame.height)


def _steps(scale: Scale, texts: Texts) -> Choice:
    """Return the choice of a step."""
    low, high = texts("rate_low"), texts("rate_high")
    return Choice.of_steps(FIELD, texts("rate_question"), scale.steps, low=low, high=high)


def _verdict(texts: Texts) -> Choice:
    """Return the choice between two texts; its values are how much better the text is that is shown first."""
    margins = range(LARGEST_MARGIN, -LARGEST_MARGIN - 1, -1)
    keys = {
        margin: f"compare_{'first' if margin > 0 else 'second'}_{abs(margin)}" if margin else "compare_tie"
        for margin in margins
    }
    options = tuple(Option(str(margin), texts(key)) for margin, key in keys.items())
    return Choice(name=FIELD, label=texts("compare_question"), options=options)


def _shows_a_first(seed: str, pair: RatedPair) -> bool:
    return int(_hash(seed, pair.id, "side"), 16) % 2 == 0


def _hash(secret: str, *words: str) -> str:
    return hmac.new(secret.encode(), "\0".join(words).encode(), "sha256").hexdigest()


@lru_cache(maxsize=10_000)  # Every request of a person needs all screens.
def _talk(talk: Talk, language: str) -> tuple[Said, ...]:
    texts = Texts(language)
    last = len(talk) - 1
    return tuple(
        Said(texts(f"said_by_{by}"), text, is_person=by == "person", is_asked=place == last)
        for place, (by, text) in enumerate(talk)
    )
