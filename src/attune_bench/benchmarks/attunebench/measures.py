"""What participants annotated, measured: topics, emotions, mood, what replies did and should have done, preferences.

A value is of one conversation, so that each conversation counts once in a mean; participants are the clusters.
"""

from collections.abc import Mapping
from itertools import combinations

import polars as pl

from attune_bench.report.measures import Family, Measures, PartOfFamily, Place
from attune_bench.scores.parts import Provenance
from attune_bench.scores.table import ScoreTable
from attune_data.attunebench.codebook import load_codebook
from attune_data.attunebench.kinds import Conversations
from attune_data.attunebench.show import question_text
from attune_data.attunebench.tables import Tables
from attune_data.query import spelled_alike
from attune_data.record import is_generated
from attune_data.text import sanitize
from attune_metrics.metric import Metric

_KEY = "conversation_id"
_TURN = [_KEY, "turn_number"]
_AFFECTS = {"positive": "positive", "negative": "negative", "none": "no emotion"}
_RESPONSES = ("human", "alternate", "original")
_MOST_TURNS = 12

Found = dict[str, tuple[Metric, pl.DataFrame]]
"""By name a measure, and its value of each conversation that has one: ``conversation_id, value``."""


def measures(conversations: Conversations) -> Measures:
    """Return what participants annotated, by conversation.

    Parameters
    ----------
    conversations : Conversations
        What a loader gives.

    Examples
    --------
    >>> from attune_data import load
    >>> found = measures(load("demo"))
    >>> found.table.units.height, [family.title for family in found.families][:2]
    (40, ['What replies did, and what people wanted', 'Emotions from turn to turn'])
    """
    tables = conversations.tables
    found: Found = {}
    families = [
        family(tables, found) for family in (_questions, _emotions_by_turn, _mood, _preferences, _emotions, _topics)
    ]
    people = tables.conversations.select(_KEY, "participant_id")
    frame = people.select(pl.lit("participants").alias("model"), pl.lit(None, pl.String).alias("condition"), unit=_KEY)
    for name, (_, own) in found.items():
        frame = frame.join(
            own.select(pl.col(_KEY).alias("unit"), pl.col("value").cast(pl.Float64).alias(name)),
            on="unit", how="left", maintain_order="left",
        )  # fmt: skip
    units = pl.DataFrame(
        {"unit": people[_KEY], "cluster": spelled_alike(people["participant_id"])},
        schema={"unit": pl.String, "cluster": pl.String},
    )
    provenance = Provenance(
        title="AttuneBench conversations", unit="conversation", cluster="participant", private=True,
        synthetic=any(map(is_generated, conversations)), primary=next(iter(found), ""),
    )  # fmt: skip
    metrics = {name: metric for name, (metric, _) in found.items()}
    table = ScoreTable(values=frame, units=units, metrics=metrics, provenance=provenance)
    return Measures(table, tuple(family for family in families if family.metrics))


def _share(name: str, label: str) -> Metric:
    return Metric(name=name, label=label, low=0, high=1, higher_is_better=None, scale=100, digits=1)


def _gap(name: str, label: str, reach: float, *, scale: float = 1) -> Metric:
    return Metric(name=name, label=label, low=-reach, high=reach, higher_is_better=None, scale=scale, digits=1)


def _topics(tables: Tables, found: Found) -> Family:
    known = tables.conversations.select(_KEY, pl.col("category").fill_null("no answer").str.strip_chars())
    counts = known.group_by("category").len().sort("len", "category", descending=[True, False])
    names = {f"topic {category}": category for category in counts["category"]}
    for name, category in names.items():
        found[name] = _share(name, sanitize(category)), known.select(_KEY, value=pl.col("category") == category)
    about = "Share of the conversations that are about the topic."
    return Family(
        title="Topics", metrics=[*names], about=about, axis="share of conversations, %", counts=True, trait="category"
    )


def _tagged(tables: Tables) -> pl.DataFrame:
    """Return every emotion that was tagged, with its lower-case word and the PANAS scale that the word belongs to."""
    known = {word: emotion.affect for word, emotion in load_codebook().emotions.items()}
    word = pl.col("emotion").str.strip_chars().str.to_lowercase()
    affect = pl.col("word").replace_strict(known, default=None, return_dtype=pl.String)
    return tables.mood_tags.with_columns(word=word).with_columns(affect=affect)


def _has(turns: pl.DataFrame, tagged: pl.DataFrame, *, value: bool = True) -> pl.DataFrame:
    """Return for each turn whether it has any of some tags, or with `value` False whether it has none."""
    has = tagged.select(*_TURN, value=pl.lit(value=value)).unique(_TURN)
    return turns.join(has, on=_TURN, how="left").with_columns(pl.col("value").fill_null(not value))


def _emotions_by_turn(tables: Tables, found: Found) -> Family:
    tagged = _tagged(tables)
    turns = tables.turns.select(_TURN)
    last = min(max(turns["turn_number"].to_list(), default=0), _MOST_TURNS)
    places: dict[str, Place] = {}
    for affect, said in _AFFECTS.items():
        own = tagged if affect == "none" else tagged.filter(affect=affect)
        of_turns = _has(turns, own, value=affect != "none")
        if not of_turns["value"].any():
            continue
        for number in range(1, last + 1):
            name = f"turn {number} {affect}"
            metric = _share(name, f"turn {number}, {said.removesuffix(' emotion')} emotion")
            found[name] = metric, of_turns.filter(turn_number=number).unique(_KEY, keep="last").select(_KEY, "value")
            places[name] = Place(said, number)
    return Family(
        title="Emotions from turn to turn", metrics=[*places], places=places, position="turn",
        about="Share of the conversations that have the turn in which the participant named an emotion of this kind in "
        "it; a turn can have emotions of both kinds.",
        axis="share of conversations, %",
    )  # fmt: skip


def _emotions(tables: Tables, found: Found) -> Family:
    tagged, turns = _tagged(tables), tables.turns.select(_TURN)
    totals: dict[str, float] = {}
    for word, emotion in load_codebook().emotions.items():
        of_turns = _has(turns, tagged.filter(word=word))
        shares = of_turns.group_by(_KEY, maintain_order=True).agg(pl.col("value").mean())
        name = f"emotion {word}"
        found[name] = _share(name, f"{emotion.word} ({emotion.affect})"), shares
        totals[name] = float(shares["value"].sum())
    order = sorted((name for name, total in totals.items() if total), key=lambda name: (-totals[name], name))
    about = "Share of the turns of a conversation in which the participant named the emotion, averaged."
    return Family(title="Emotions by name", metrics=order, about=about, axis="share of turns, %")


_PARTS_OF_MOOD = (
    PartOfFamily(
        "Mood after",
        "PANAS total after the conversation: ten words, each rated 1 to 7, make 10 to 70. Only conversations "
        "with the totals before and after count.",
        "PANAS total, 10 to 70",
    ),
    PartOfFamily(
        "Change of mood",
        "PANAS total after the conversation minus the PANAS total before. Above 0, the affect was stronger after the "
        "conversation.",
        "PANAS total, after minus before",
    ),
)


def _mood(tables: Tables, found: Found) -> Family:
    pairs: dict[str, tuple[str, str]] = {}
    for affect in ("positive", "negative"):
        ends = [f"{affect} affect {moment}" for moment in ("after", "before")]
        columns = [pl.col(f"{moment}_total_{affect}_affect").cast(pl.Float64) for moment in ("post", "pre")]
        both = pl.all_horizontal(*(column.is_not_null() for column in columns))
        known = tables.conversations.filter(both)
        for name, column in zip(ends, columns, strict=True):
            metric = Metric(name=name, label=name, low=10, high=70, higher_is_better=None, digits=1)
            found[name] = metric, known.select(_KEY, value=column)
        name = f"{affect} affect"
        found[name] = _gap(name, f"{affect} affect", 60), known.select(_KEY, value=columns[0] - columns[1])
        pairs[name] = (ends[0], ends[1])
    about = "PANAS total of ten words, each rated 1 to 7: 10 to 70. Only conversations with both totals count."
    return Family(
        title="Mood before and after", metrics=[*pairs], pairs=pairs, ends=("after", "before"), about=about,
        axis="PANAS total, 10 to 70", noun="PANAS total", parted=_PARTS_OF_MOOD,
    )  # fmt: skip


_PARTS_OF_QUESTIONS = (
    PartOfFamily(
        "What people wanted of replies",
        "Share of the turns of a conversation in which the participant would have wanted the reply to do it, averaged "
        "over conversations; whether the reply did it does not count here. Only turns with both answers count.",
        "wanted, % of turns",
    ),
    PartOfFamily(
        "Wanted minus observed",
        "Share of the turns in which the participant would have wanted the reply to do it, minus the share of the "
        "turns in which the reply did it, in percentage points. Above 0 (right), people wanted it more often than "
        "they got it; below 0 (left), they got it more often than they wanted it.",
        "wanted minus observed, percentage points",
    ),
)


def _questions(tables: Tables, found: Found) -> Family:
    answered = pl.col("observed_behavior", "preferred_behavior").cast(pl.String).is_in(["yes", "no"])
    known = tables.binary.filter(pl.all_horizontal(answered)).unique(
        [*_TURN, "question_id"], keep="last", maintain_order=True
    )
    wanted, observed = (pl.col(f"{what}_behavior") == "yes" for what in ("preferred", "observed"))
    pairs: dict[str, tuple[str, str]] = {}
    means: dict[str, float] = {}
    for question in known["question_id"].unique().sort().to_list():
        own = known.filter(question_id=question).group_by(_KEY, maintain_order=True)
        shares = own.agg(wanted=wanted.mean(), observed=observed.mean())
        text = question_text(question)
        name = f"gap {question}"
        ends = f"wanted {question}", f"observed {question}"
        label = sanitize(f"{question} {text}".strip())
        gaps = shares.select(_KEY, value=pl.col("wanted") - pl.col("observed"))
        found[name] = _gap(name, label, 1, scale=100), gaps
        for end, what in zip(ends, ("wanted", "observed"), strict=True):
            found[end] = _share(end, label), shares.select(_KEY, value=pl.col(what))
        pairs[name] = ends
        means[name] = float(gaps["value"].mean() or 0)  # type: ignore[arg-type]
    order = sorted(pairs, key=lambda name: (-abs(means[name]), name))
    about = (
        "Share of the turns of a conversation, averaged: observed, where the participant said that the original "
        "model's reply did it; wanted, where the participant would have wanted it. Only turns with both answers count."
    )
    return Family(
        title="What replies did, and what people wanted", metrics=order, pairs={name: pairs[name] for name in order},
        ends=("wanted", "observed"), about=about, axis="share of turns, %",
        noun="question", parted=_PARTS_OF_QUESTIONS,
    )  # fmt: skip


def _preferences(tables: Tables, found: Found) -> Family:
    chosen = pl.when(pl.col("winner") == "A").then("response_a").otherwise("response_b").cast(pl.String)
    known = tables.pairwise.drop_nulls(["winner", "response_a", "response_b"]).with_columns(chosen=chosen)
    names: list[str] = []
    for first, second in combinations(_RESPONSES, 2):
        name = f"{first} over {second}"
        of_both = pl.concat_list(pl.col("response_a", "response_b").cast(pl.String)).list.sort() == sorted(
            [first, second]
        )
        own = known.filter(of_both).group_by(_KEY, maintain_order=True).agg(value=(pl.col("chosen") == first).mean())
        if own.height:
            found[name] = _share(name, f"{_CALLED[first]} over {_CALLED[second]}"), own
            names.append(name)
    about = (
        "Share of a conversation's comparisons of the two replies in which the participant preferred the first, "
        "averaged; half would be no preference."
    )
    return Family(
        title="Preferred replies", metrics=names, about=about, axis="share of comparisons, %", middle=0.5,
        middle_words="The broken line is no preference.",
    )  # fmt: skip


_CALLED: Mapping[str, str] = {
    "human": "the participant's own edit",
    "alternate": "the model's improvement",
    "original": "the original reply",
}
