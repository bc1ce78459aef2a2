"""The commands `attune-bench compare` and `subset`."""

from collections.abc import Sequence
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from attune_bench._usage import UsageError, catching, emit, mistakes
from attune_bench.report import Format
from attune_data.text import plural

if TYPE_CHECKING:
    import polars as pl

    from attune_bench.scores import Scores
    from attune_bench.stats.series import Options
    from attune_bench.stats_tables import Column, Section
    from attune_data import Collection, Conversation

__all__ = ["compare", "standing", "subset", "table_metadata"]

DEFAULT = ("composite_score",)
Names = Annotated[tuple[str, ...], Parameter(negative="")]


def compare(
    *,
    scores: Path,
    metric: Names = DEFAULT,
    model: Names = (),
    format: Format = "table",  # noqa: A002
    resamples: int = 10_000,
    seed: int = 0,
) -> None:
    """Tell models apart: every two of a mode, on the conversations that both were run on.

    JSON: under comparisons model_a, model_b, mode, metric, difference, low, high, p, p_holm, n, participants,
    detectable, reason; under told_apart mode, metric, pairs, family, told_apart, interval_excludes_0.

    Parameters
    ----------
    scores
        What `attune-bench score` wrote.
    metric
        A metric, as named in the aggregates of the scores; give it again for another.
    model
        Compare these two models only: give it twice.
    format
        table, in 100 columns; markdown, for a paper; csv and json, every column.
    resamples
        How many resamples, and random exchanges.
    seed
        The same seed gives the same numbers.
    """
    from attune_bench.scores import Scores
    from attune_bench.stats.comparison import told_apart
    from attune_bench.stats.signing import sign
    from attune_bench.stats_tables import StatsTable, render

    read = Scores.read(scores)
    if len(model) not in {0, 2}:
        raise UsageError(f"--model was given {plural(len(model), 'time')}; give it twice, or not at all for every two")
    options: Options = {"metrics": metric, "resamples": resamples, "seed": seed}
    frame, warned = catching(lambda: read.compare(*model, **options) if model else read.compare_all(**options))
    counts = told_apart(frame)
    question = f"compare {model[0]!r} with {model[1]!r}" if model else None
    notes = _COMPARE_NOTES if frame.height else [_nothing_to_compare(read)]
    table = StatsTable(
        key="comparisons",
        frame=frame,
        columns=_compare_columns(),
        sections=_compare_sections(frame, counts),
        notes=[*notes, *standing(read), *warned],
        signature=sign(read, question=question, **options),
        metadata=table_metadata(read),
        extra={"told_apart": counts},
    )
    emit(render(table, format=format))


_COMPARE_NOTES = [
    "Difference: A minus B, with its 95% interval by resampling participants (expanded percentile). p: exchanging A "
    "and B within participants. Holm: p corrected for the pairs of the table. Detectable: the smallest true difference "
    "found with 80% power at an uncorrected 0.05. n: conversations of both (participants)."
]


def _nothing_to_compare(scores: "Scores") -> str:
    models = plural(len({row["em_model"] for row in scores.aggregates}), "model")
    return f"Nothing to compare: no mode has two models ({models} scored)."


def standing(scores: "Scores") -> list[str]:
    """Return what has to be said of every table of these scores."""
    return ["SYNTHETIC demonstration data."] if scores.metadata.get("synthetic") else []


def table_metadata(scores: "Scores") -> dict[str, Any]:
    """Return what JSON says of the scores."""
    metadata = scores.metadata
    return {"protocol": metadata["protocol"], "synthetic": metadata.get("synthetic", False)}


def _compare_columns() -> "list[Column]":
    from attune_bench.stats_tables import Column, interval, number, p_value, sizes

    return [
        Column("A", lambda row: row["model_a"], is_name=True),
        Column("B", lambda row: row["model_b"], is_name=True),
        Column("difference", lambda row: number(row["difference"], row["metric"], signed=True)),
        Column("95% interval", lambda row: interval(row["low"], row["high"], row["metric"], signed=True)),
        Column("p", lambda row: p_value(row["p"])),
        Column("Holm", lambda row: p_value(row["p_holm"])),
        Column("n", sizes),
        Column("detectable", lambda row: number(row["detectable"], row["metric"])),
    ]


def _compare_sections(frame: "pl.DataFrame", counts: "pl.DataFrame") -> "list[Section]":
    from attune_bench.stats_tables import Section

    rows = frame.to_dicts()
    return [
        Section(
            f"{count['metric']}, mode {count['mode']}: told apart {count['told_apart']} of {count['pairs']} (Holm p < "
            f"0.05, family of {count['family']}), {count['interval_excludes_0']} by interval alone",
            [row for row in rows if (row["mode"], row["metric"]) == (count["mode"], count["metric"])],
        )
        for count in counts.to_dicts()
    ]


def subset(
    *,
    scores: Path,
    data: str,
    diagnosis: Names = (),
    category: Names = (),
    gender: Names = (),
    country: Names = (),
    age_range: Names = (),
    om_model: Names = (),
    attitude: Names = (),
    participant: Names = (),
    screen: Names = (),
    filter: str | None = None,  # noqa: A002
    by: str | None = None,
    compare: Annotated[bool, Parameter(negative="")] = False,
    metric: Names = DEFAULT,
    format: Format = "table",  # noqa: A002
    resamples: int = 10_000,
    seed: int = 0,
) -> None:
    """Score a part of the conversations, chosen by traits; or with --by each stratum of a trait.

    JSON: under subgroups stratum, n, participants, metric, model, mode, value, low, high, mark, reason; with --compare
    also difference, difference_low, difference_high, p, p_holm.

    Parameters
    ----------
    scores
        What `attune-bench score` wrote.
    data
        Conversations: a folder, a .json or a .jsonl file, an archive, hf://owner/name, or demo.
    diagnosis
        A group such as ADHD or none, or an answer as given. Of an option that is given again any value matches;
        conversations must match all options.
    category
        Category of the topic.
    gender
        As answered.
    country
        As answered.
    age_range
        As answered.
    om_model
        The model that the participant talked to.
    attitude
        To the topic.
    participant
        Id of a participant.
    screen
        An instrument on which the participant is screen-positive, such as who_5.
    filter
        An SQL condition on traits, such as "promis_anxiety_t >= 60".
    by
        A trait, such as diagnosis_group: one stratum for each of its values, of the conversations chosen.
    compare
        Set each stratum against its complement, the other conversations.
    metric
        A metric, as named in the aggregates of the scores; give it again for another.
    format
        table, in 100 columns; markdown, for a paper; csv and json, every column.
    resamples
        How many resamples.
    seed
        The same seed gives the same numbers.
    """
    from attune_bench.scores import Scores
    from attune_bench.stats.signing import sign
    from attune_bench.stats.subgroups import conversation_ids
    from attune_bench.stats_tables import StatsTable, render
    from attune_data import load

    read = Scores.read(scores)
    conversations = load(data)
    traits = {
        "diagnosis": diagnosis, "category": category, "gender": gender, "country": country, "age_range": age_range,
        "om_model": om_model, "attitude": attitude, "participant_id": participant,
    }  # fmt: skip
    given = {trait: values for trait, values in traits.items() if values}
    if not (given or screen or filter is not None or by):
        raise UsageError("which conversations? Choose some, for instance --diagnosis ADHD, or use --by TRAIT")
    with mistakes():
        part = conversations.where(**given)
        if screen:  # Positive on any of them.
            part = reduce(or_, (part.where(**{f"{name}_screen": True}) for name in screen))
        if filter is not None:
            part = part.filter(filter)
    question = ", ".join(part._filters[len(conversations._filters) :])
    options: Options = {"metrics": metric, "resamples": resamples, "seed": seed}
    if by is None:
        known = _known(conversations, screen)
        frame, warned = catching(lambda: _one(read, question, part, known, compare, options))
        overlapping, within = 0, conversation_ids(known) if compare else conversation_ids(part)
    else:
        from attune_bench.stats.subgroups import overlap

        frame, warned = catching(lambda: read.by(by, data=part, compare=compare, **options))
        overlapping = overlap({name: conversation_ids(stratum) for name, stratum in part.stratify(by).items()})
        within = conversation_ids(part)
    asked = "; ".join(text for text in (question, f"by {by}" if by else "", "compared" if compare else "") if text)
    notes = [_VALUE_NOTE, *([_DIFFERENCE_NOTE] if compare else [])]
    if overlapping:
        notes.append(f"Strata overlap: {plural(overlapping, 'conversation is', 'conversations are')} in several.")
    table = StatsTable(
        key="subgroups",
        frame=frame,
        columns=_subset_columns(compare=compare),
        sections=_subset_sections(frame, compare=compare),
        notes=[*notes, *standing(read), *warned],
        signature=sign(read, within=within, question=asked, **options),
        metadata=table_metadata(read) | {"filter": asked, "overlapping": overlapping},
    )
    emit(render(table, format=format))


_VALUE_NOTE = (
    "95% intervals by resampling participants (expanded percentile). n: conversations (participants). few: fewer than "
    "20 participants. too few: fewer than 5, no interval."
)
_DIFFERENCE_NOTE = (
    "Difference: stratum minus complement, the other conversations, unpaired. Holm: p corrected for the strata of the "
    "table, for each model and metric apart."
)


def _known(conversations: "Collection[Conversation]", screen: Sequence[str]) -> "Collection[Conversation]":
    """Return the conversations of whom it is known whether they are screen-positive: a complement has no others."""
    for name in screen:
        conversations = conversations.where(**{f"{name}_screen": [True, False]})
    return conversations


def _one(
    scores: "Scores",
    question: str,
    part: "Collection[Conversation]",
    known: "Collection[Conversation]",
    compare: bool,
    options: "Options",
) -> "pl.DataFrame":
    """Return the rows of one stratum and, for a comparison, those of its complement below them."""
    import polars as pl

    from attune_bench.stats.subgroups import conversation_ids, subgroups

    chosen, among = conversation_ids(part), conversation_ids(known)
    frame = subgroups(scores, {question: chosen}, known=among, compare=compare, **options)
    if not compare:
        return frame
    rest = {f"not ({question})": set(among).difference(chosen)}
    return pl.concat([frame, subgroups(scores, rest, known=among, **options)], how="diagonal")


def _subset_columns(*, compare: bool) -> "list[Column]":
    from attune_bench.stats_tables import Column, interval, number, p_value, sizes

    columns = [
        Column("stratum", lambda row: row["stratum"], is_name=True),
        Column("n", sizes),
        Column("value", lambda row: number(row["value"], row["metric"])),
        Column("95% interval", lambda row: interval(row["low"], row["high"], row["metric"])),
        Column("mark", lambda row: row["mark"]),
    ]
    if not compare:
        return columns
    return [
        *columns,
        Column("difference", lambda row: number(row["difference"], row["metric"], signed=True)),
        Column(
            "95% interval",
            lambda row: interval(row["difference_low"], row["difference_high"], row["metric"], signed=True),
        ),
        Column("p", lambda row: p_value(row["p"])),
        Column("Holm", lambda row: p_value(row["p_holm"])),
    ]


def _subset_sections(frame: "pl.DataFrame", *, compare: bool) -> "list[Section]":
    from attune_bench.stats_tables import Section

    sections = []
    for (metric, model, mode), rows in frame.group_by("metric", "model", "mode", maintain_order=True):
        family = f", family of {plural(rows['p'].count(), 'test')}" if compare else ""
        sections.append(Section(f"{metric}, {model}, mode {mode}{family}", rows.to_dicts()))
    return sections
