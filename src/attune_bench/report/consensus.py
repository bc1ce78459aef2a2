"""Tables of judges without people: levels by agreement, errors of judges, and what such numbers cannot say."""

from collections.abc import Iterator

import polars as pl

from attune_bench.report.columns import (
    Row,
    Table,
    count_column,
    estimate_column,
    number_column,
    p_value,
    size_column,
    text_column,
)
from attune_bench.report.judges import by_dataset, rating_metric
from attune_bench.report.tables import with_frame
from attune_bench.stats.consensus import ConsensusTables
from attune_data.text import joined, plural


def consensus_tables(found: ConsensusTables, *, confusion: bool) -> list[Table]:
    """Return the tables of `attune_bench.stats.consensus.judge_consensus`; matrices where asked for."""
    dimension, judge = text_column("dimension", "dimension", is_name=True), text_column("judge", "judge", is_name=True)
    model = [text_column("model", "model", is_name=True)] if found.models["model"].count() else []
    of_models = [
        dimension,
        *model,
        estimate_column("level", "level", rating_metric),
        number_column("plain mean", "plain", rating_metric),
        size_column(),
    ]
    of_judges = [
        dimension,
        judge,
        *(number_column(name, name, rating_metric, signed=name == "leniency") for name in _ERRORS),
        count_column("n", "n"),
    ]
    return [
        *with_frame("models", found.models, by_dataset("models", "Level, by agreement", of_models, found.models)),
        *with_frame("judges", found.judges, by_dataset("judges", "Errors of judges", of_judges, found.judges)),
        *with_frame("confusion", found.confusion, _matrices(found.confusion) if confusion else ()),
        *with_frame("pairs", found.pairs, ()),
        *with_frame("units", found.units, ()),
    ]


_ERRORS = ("accuracy", "leniency", "spread")


def _matrices(frame: pl.DataFrame) -> Iterator[Table]:
    """Yield a matrix for each judge: a row a level, a column a rating."""
    for _, rows in frame.group_by("dataset", "dimension", "judge", maintain_order=True):
        first = rows.row(0, named=True)
        ratings = rows["rating"].unique(maintain_order=True).to_list()
        columns = [
            text_column("level", "level"),
            *(number_column(f"rated {rating:g}", f"{rating:g}", rating_metric) for rating in ratings),
        ]
        levels = [
            {"level": f"{level:g}", **{f"{one['rating']:g}": one["probability"] for one in own.to_dicts()}}
            for (level,), own in rows.group_by("level", maintain_order=True)
        ]
        title = f"{_place(first)}: how often {first['judge']} gives each rating"
        yield Table("confusion", title, columns, levels)


def consensus_note(found: ConsensusTables, *, level: float) -> str:
    """Return the sentences below the tables, the most important first."""
    over = "items" if found.models["clusters"].equals(found.models["n"]) else "clusters of items"
    pairs = found.pairs
    if pairs.is_empty():
        tested = "Whether judges share errors cannot be tested: that takes four judges."
    elif pairs["p_holm"].count():
        tested = (
            "Whether two judges share errors is tested, against the others: errors that most judges share cannot show."
        )
    else:
        tested = "Whether judges share errors is unknown."
    for reason, count in pairs.drop_nulls("reason").group_by("reason", maintain_order=True).len().rows():
        tested += f" {count} of {plural(pairs.height, 'pair')} cannot be tested: {reason}."
    return (
        "Agreement is not truth: what all judges share, such as leniency to the weakest, is in the levels, and nothing "
        "here shows it. The levels follow judges that err alike, as those of one family do, and these judges look more "
        f"accurate than they are. {tested} Let people rate a part, and use judge correct. level: mean of the levels "
        "that the judges' agreement makes likely, by the model of Dawid and Skene with ordered levels; in brackets "
        f"{100 * level:g}% intervals over {over}, which count that the judges' errors are estimated. plain mean: of "
        "the judges' ratings. accuracy: how often a rating is the level. leniency: mean of rating minus level; the "
        "average judge has none. spread: its standard deviation."
    )


_NEVER_ERRS = 0.99


def consensus_warnings(found: ConsensusTables, *, level: float) -> tuple[str, ...]:
    """Return a sentence for each judge that is left out, falls or never errs, and for judges that share errors."""
    said = []
    for row in found.judges.iter_rows(named=True):
        where = f"Warning: {_place(row)}: {row['judge']}"
        if row["reason"] is not None:
            said.append(f"{where} is left out: {row['reason']}.")
        elif row["falls"]:
            said.append(
                f"{where} falls where most judges rise, and is turned round; nothing shows that most are right."
            )
        elif row["accuracy"] >= _NEVER_ERRS:
            said.append(f"{where} seems never to err, so that the levels are its ratings. Few judges never err.")
    for _, pairs in found.pairs.group_by("dataset", "dimension", maintain_order=True):
        row = pairs.sort("excess", descending=True, nulls_last=True, maintain_order=True).row(0, named=True)
        if row["p_holm"] is not None and row["p_holm"] < 1 - level:
            own = [row["judge_a"], row["judge_b"]]
            others = sorted({*pairs["judge_a"], *pairs["judge_b"]} - {*own})
            instead = f" Of four judges, {joined(others)} may be the two instead." if len(others) == 2 else ""
            said.append(
                f"Warning: {_place(row)}: {joined(own)} agree more than the other judges explain (correlation "
                f"{row['excess']:+.2f}, Holm p {p_value(row['p_holm'])}): they may share errors.{instead}"
            )
    return tuple(said)


def _place(row: Row) -> str:
    return str(row["dimension"]) if row["dataset"] is None else f"{row['dataset']}: {row['dimension']}"
