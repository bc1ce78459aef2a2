"""Judges corrected by people's ratings of some contexts, against people's ratings of all: on published ratings.

    python benchmarks/judges_of_counselling.py

Reads tests/golden/mentalalign: experts and four judge models rated the answers of ten responders to 1,000 contexts on
seven attributes, 1 to 5. Prints the tables of docs/judges.md: means and rank correlations of all ratings; and, over
many draws of 50, 100 and 200 contexts, how far off judges, people and corrected judges are, how often intervals cover
people's mean of all contexts, and how wide they are. A draw corrects the ten responders on one attribute, the
attributes in turn. Twelve minutes on one core.

The truth is the mean of a finite number of contexts, part of which was drawn, so that intervals that are of all
contexts that there could be cover it too often: `expected` is the share that follows from this. `population` therefore
draws twice: 1,000 contexts with replacement, from which the rated ones are drawn. An interval promises 95% of these.
"""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from attune_bench import Scores
from attune_metrics.metric import UnreliableIntervalWarning
from attune_metrics.stats.agreement import spearman_rho
from attune_metrics.stats.bootstrap import Interval, draw_resamples
from attune_metrics.stats.judge_panels import combine_judges
from attune_metrics.stats.judges import prediction_powered

Floats = NDArray[np.float64]

FOLDER = Path(__file__).parents[1] / "tests" / "golden" / "mentalalign"
PEOPLE, JUDGES, TOGETHER = "human", ("claude", "gemini", "gpt-4o", "o4-mini"), "all four"
ATTRIBUTES = ("guidance", "informativeness", "relevance", "safety", "empathy", "helpfulness", "understanding")
SCALE = {name: {"label": name.capitalize(), "low": 1, "high": 5, "digits": 2} for name in ATTRIBUTES}
CONTEXTS, SIZES, DRAWS, RESAMPLES = 1000, (50, 100, 200), 500, 500


@cache
def scores() -> Scores:
    """Return the ratings as scores: a condition is a rater; ratings outside of 1 to 5 are left out."""
    about = {"title": "MentalAlign", "unit": "context"}
    return Scores.from_table(pl.read_parquet(FOLDER / "ratings.parquet"), metrics=SCALE, about=about)


def means(ratings: pl.DataFrame) -> pl.DataFrame:
    """Return the mean over the seven attributes of the mean ratings, by responder, with a column for each rater."""
    of_attributes = ratings.group_by("responder", "rater", "dimension").agg(pl.col("value").cast(pl.Float64).mean())
    table = of_attributes.group_by("responder", "rater").agg(pl.col("value").mean())
    order = [PEOPLE, *JUDGES]
    return table.pivot("rater", index="responder", values="value").select("responder", *order).sort(PEOPLE)


def correlations(ratings: pl.DataFrame) -> pl.DataFrame:
    """Return Spearman's correlation of single ratings of each judge with people's, by attribute."""
    table = ratings.pivot("rater", index=["responder", "item", "dimension"], values="value")
    rows = []
    for attribute in ATTRIBUTES:
        own = table.filter(dimension=attribute)
        both = {judge: own.drop_nulls([judge, PEOPLE]) for judge in JUDGES}
        found = {judge: both[judge].select(pl.corr(judge, PEOPLE, method="spearman")).item() for judge in JUDGES}
        rows.append({"attribute": attribute, **found})
    return pl.DataFrame(rows)


class Rated(NamedTuple):
    """The ratings on one attribute: people's and each judge's, arrays (responders, contexts), nan where one lacks."""

    people: Floats
    judges: dict[str, Floats]


@cache
def rated() -> dict[str, Rated]:
    """Return the ratings of each attribute, of the answers that all raters rated."""
    table = scores().values.with_columns(pl.col("unit").cast(pl.String).cast(pl.Int64))
    found = {}
    for attribute in ATTRIBUTES:
        wide = table.pivot("condition", index=["model", "unit"], values=attribute).sort("model", "unit")
        cells = wide.select(PEOPLE, *JUDGES).to_numpy().reshape(-1, CONTEXTS, 1 + len(JUDGES)).copy()
        cells[np.isnan(cells).any(axis=2)] = np.nan
        people, *judged = np.moveaxis(cells, 2, 0)
        found[attribute] = Rated(people, dict(zip(JUDGES, judged, strict=True)))
    return found


class Draw(NamedTuple):
    """What one draw of contexts says of one responder.

    Attributes
    ----------
    draw, size, judge, attribute, responder : int, int, str, str, int
        Which draw, how many contexts people rated, and who is corrected on which attribute of which responder.
    judge_off, people_off, off : float
        How far above people's mean of all contexts are the judge alone, people's mean of the drawn contexts, and the
        corrected judge; nan where there is none.
    people_covered, covered : float
        1 where the interval of people alone, or of the corrected judge, covers that mean; nan without an interval.
    expected : float
        How often the corrected interval should cover it, see `expected_coverage`.
    width, r : float
        The corrected interval's width as a part of the width of people's; the correlation of judge and people on the
        drawn contexts.
    """

    draw: int
    size: int
    judge: str
    attribute: str
    responder: int
    judge_off: float
    people_off: float
    off: float
    people_covered: float
    covered: float
    expected: float
    width: float
    r: float


def draws(
    size: int, number: int, *, population: bool = False, judges: Sequence[str] = (*JUDGES, TOGETHER)
) -> Iterator[Draw]:
    """Yield what many draws of contexts say of each judge, and of all four together, and of each responder.

    With `population` the contexts of a draw are drawn from all with replacement.
    """
    for draw in range(number):
        generator = np.random.default_rng([draw, size])
        attribute = ATTRIBUTES[draw % len(ATTRIBUTES)]
        people, judged = rated()[attribute]
        contexts = generator.integers(CONTEXTS, size=CONTEXTS) if population else np.arange(CONTEXTS)
        chosen = generator.permutation(CONTEXTS)[:size]
        labels = np.full(people.shape, np.nan)
        labels[:, chosen] = people[:, contexts[chosen]]
        given = {judge: scores[:, contexts] for judge, scores in judged.items()}
        resamples = draw_resamples(range(CONTEXTS), n_resamples=RESAMPLES, seed=draw)
        for judge in judges:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnreliableIntervalWarning)
                if judge == TOGETHER:
                    found = prediction_powered(_together(given, labels), labels, resamples, slope=1)
                else:
                    found = prediction_powered(given[judge], labels, resamples)
            for place, one in enumerate(found):
                alone, both, truth = one.people, one.corrected, float(np.nanmean(people[place]))
                yield Draw(
                    draw, size, judge, attribute, place,
                    judge_off=np.nan if judge == TOGETHER else one.judge.estimate - truth,
                    people_off=alone.estimate - truth, off=both.estimate - truth,
                    people_covered=_covers(alone, truth), covered=_covers(both, truth),
                    expected=expected_coverage(size, explained(attribute, judge)[place]),
                    width=(both.high - both.low) / (alone.high - alone.low), r=one.correlation,
                )  # fmt: skip


def _together(given: dict[str, Floats], labels: Floats) -> Floats:
    """Return the combination of all judges for each responder, as `prediction_powered_panel` makes it."""
    judges = np.stack([given[judge] for judge in JUDGES], axis=1)
    return np.stack([combine_judges(own, its, range(CONTEXTS)).scores for own, its in zip(judges, labels, strict=True)])


class Turned(NamedTuple):
    """A difference of two responders that judges turn around, and how often corrected judges set it right.

    Attributes
    ----------
    people : float
        The difference by people, of all contexts.
    judges : dict of str to float
        By each judge.
    below, above : int
        In how many draws the corrected interval, by all judges together, is below 0, and above.
    """

    people: float
    judges: dict[str, float]
    below: int
    above: int


def turned(a: str, b: str, attribute: str, size: int, number: int) -> Turned:
    """Return the difference of two responders on an attribute, and what draws of contexts make of it."""
    people, judged = rated()[attribute]
    places = [sorted(scores().models).index(one) for one in (a, b)]
    truth, *given = (one[places[0]] - one[places[1]] for one in (people, *judged.values()))
    ends = []
    for draw in range(number):
        chosen = np.random.default_rng([draw, size]).permutation(CONTEXTS)[:size]
        labels = np.full(CONTEXTS, np.nan)
        labels[chosen] = truth[chosen]
        resamples = draw_resamples(range(CONTEXTS), n_resamples=RESAMPLES, seed=draw)
        together = combine_judges(given, labels, range(CONTEXTS)).scores
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnreliableIntervalWarning)
            [found] = prediction_powered(together, labels, resamples, slope=1)
        ends.append((found.corrected.low, found.corrected.high))
    means = {judge: float(np.nanmean(one)) for judge, one in zip(JUDGES, given, strict=True)}
    below, above = sum(high < 0 for _, high in ends), sum(low > 0 for low, _ in ends)
    return Turned(float(np.nanmean(truth)), means, below, above)


def _covers(interval: Interval, truth: float) -> float:
    return float(interval.low <= truth <= interval.high) if interval.reason is None else np.nan


@cache
def explained(attribute: str, judge: str) -> list[float]:
    """Return which part of the variance of people's ratings of each responder a judge explains, or all four do."""
    people, judged = rated()[attribute]
    parts = []
    for place, own in enumerate(people):
        known = ~np.isnan(own)
        columns = [judged[one][place][known] for one in (JUDGES if judge == TOGETHER else (judge,))]
        design = np.column_stack([np.ones(known.sum()), *columns])
        residuals = own[known] - design @ np.linalg.lstsq(design, own[known])[0]
        parts.append(1 - float(residuals.var() / own[known].var()))
    return parts


def expected_coverage(size: int, explained: float) -> float:
    """Return how often an interval of all contexts that there could be covers the mean of these 1,000.

    With the part e of the variance that the judge explains and the share f of contexts drawn, the variance of the
    estimate is proportional to 1 - e + e f around the mean of all possible contexts, which the interval is made for,
    and to (1 - e)(1 - f) around the mean of these.
    """
    share = size / CONTEXTS
    ratio = (1 - explained + share * explained) / ((1 - explained) * (1 - share))
    return float(2 * ndtr(ndtri(0.975) * np.sqrt(ratio)) - 1)


def frame(found: Iterable[Draw]) -> pl.DataFrame:
    """Return draws as a frame, undefined numbers as null."""
    return pl.DataFrame([*found], schema=[*Draw._fields], orient="row").fill_nan(None)


def summary(found: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """Return means over the draws in which the corrected judge has an interval, by some columns of the draws.

    ``none`` is the share of the others, and ``error`` the standard error of ``covered``: responders of one draw count
    as one.
    """
    known = found.filter(pl.col("covered").is_not_null())
    off = ("judge_off", "people_off", "off")
    distances = (pl.col(name).abs().mean().alias(name.replace("off", "distance")) for name in off)
    means = (pl.col(name).mean() for name in (*off, "people_covered", "covered", "expected", "width", "r"))
    of_draws = known.group_by(*keys, "draw").agg(pl.col("covered").mean())
    errors = of_draws.group_by(keys).agg(error=pl.col("covered").std() / pl.len().sqrt())
    none = found.group_by(keys).agg(none=pl.col("covered").is_null().mean())
    table = known.group_by(keys).agg(*distances, *means)
    return table.join(errors, on=[*keys]).join(none, on=[*keys]).sort(keys)


def by_judge(of_these: pl.DataFrame, of_population: pl.DataFrame) -> Iterator[str]:
    """Yield the lines of the table of sizes and judges, of draws of these contexts and of a population."""
    one, other = (summary(found, "size", "judge") for found in (of_these, of_population))
    error = max(*one["error"], *other["error"])
    yield f"{of_these['draw'].n_unique()} draws for each line, standard error of coverage at most {error:.1%}"
    yield ""
    yield "                 distance in points            bias         these 1,000        population"
    yield (
        "rated  judge     judge  people  corrected   judge  corrected  covered expected  people corrected  width   none"
    )
    both = one.join(other, on=["size", "judge"], suffix="_all")
    order = pl.col("judge").replace_strict([*JUDGES, TOGETHER], range(1 + len(JUDGES)))
    for row in both.sort("size", order).iter_rows(named=True):
        alone = ["-", "-"] if row["judge_off"] is None else [f"{row['judge_distance']:.2f}", f"{row['judge_off']:+.2f}"]
        distances = f"{alone[0]:>5}  {row['people_distance']:6.3f}  {row['distance']:9.3f}"
        bias = f"{alone[1]:>6}  {row['off']:+9.3f}"
        these = f"{row['covered']:7.1%}  {row['expected']:7.1%}"
        all_ = f"{row['people_covered_all']:6.1%}  {row['covered_all']:8.1%}"
        rest = f"{row['width']:5.2f}  {row['none']:5.1%}"
        yield f"{row['size']:5}  {row['judge']:8}  {distances}  {bias}  {these}  {all_}  {rest}"


def beside_the_best(found: pl.DataFrame) -> Iterator[str]:
    """Yield how wide intervals by all judges are, as a part of the best judge's and of the shortest in each case.

    The best judge is the one whose intervals are shortest on average, in the cases in which it has one.
    """
    cases = found.pivot("judge", index=["size", "draw", "responder"], values="width").drop_nulls(TOGETHER)
    of_each = [(pl.col(TOGETHER).filter(pl.col(judge).is_not_null()).mean() / pl.col(judge).mean()) for judge in JUDGES]
    shortest = (pl.col(TOGETHER) / pl.min_horizontal(JUDGES)).mean()
    parts = cases.group_by("size").agg(pl.max_horizontal(of_each).alias("best"), shortest.alias("shortest"))
    for size, best, part in parts.sort("size").iter_rows():
        yield f"{size:5}  all four, as a part of the interval by the best judge: {best:.2f}"
        yield f"{size:5}  all four, as a part of the shortest interval by one judge: {part:.2f}"


def by_attribute(found: pl.DataFrame) -> Iterator[str]:
    """Yield the lines of the table of attributes, over the single judges."""
    yield "attribute          judge  people  corrected     r  width   none"
    for row in summary(found.filter(pl.col("judge") != TOGETHER), "attribute").iter_rows(named=True):
        distances = f"{row['judge_distance']:5.2f}  {row['people_distance']:6.3f}  {row['distance']:9.3f}"
        yield f"{row['attribute']:17}  {distances}  {row['r']:4.2f}  {row['width']:5.2f}  {row['none']:5.1%}"


def overall(rater: str) -> Scores:
    """Return a rater's mean rating of each answer over the attributes, as scores of the responders.

    Of the answers that every rater rated on each attribute, so that all raters are compared on the same answers.
    """
    answers = ["model", "unit"]
    whole = scores().values.drop_nulls(ATTRIBUTES)
    shared = whole.group_by(answers).len().filter(len=1 + len(JUDGES))
    values = whole.filter(condition=rater).join(shared, on=answers, how="semi")
    table = values.select(*answers, value=pl.mean_horizontal(ATTRIBUTES)).with_columns(metric=pl.lit("overall"))
    metrics = {"overall": {"label": "Mean rating", "low": 1, "high": 5, "digits": 2}}
    return Scores.from_table(table, metrics=metrics, about={"title": "MentalAlign", "unit": "context"})


def published() -> dict[str, float]:
    """Return the published mean of the experts' ratings of each model, which counts zeros and sixes as they are."""
    return dict(pl.read_csv(FOLDER / "published.csv").select("responder", "average").iter_rows())


class Moved(NamedTuple):
    """What a judge makes of people's order of the responders.

    Attributes
    ----------
    judge : str
        The judge.
    agreement : float
        Spearman's correlation of the judge's and people's mean ratings of the responders.
    responder, by_people, by_judge : str, float, float
        The responder whose rank differs most, and its two ranks.
    reversed_pairs, pairs : int, int
        Of the pairs that differ significantly by people and by the judge, how many differ the other way; and how many
        pairs these are.
    """

    judge: str
    agreement: float
    responder: str
    by_people: float
    by_judge: float
    reversed_pairs: int
    pairs: int


def moved(judge: str) -> Moved:
    """Return what a judge in the place of people does to the order of the responders."""
    people, other = (overall(rater) for rater in (PEOPLE, judge))
    ranks = [scores.rank(resamples=1).select("model", "rank", "value") for scores in (people, other)]
    both = ranks[0].join(ranks[1], on="model", suffix="_judge")
    apart = both.with_columns(by=(pl.col("rank") - pl.col("rank_judge")).abs()).sort("by", "model", descending=True)
    model, rank, _, rank_judge, *_ = apart.row(0)
    signs = [_significant(PEOPLE), _significant(judge)]
    shared = signs[0].keys() & signs[1].keys()
    return Moved(
        judge, spearman_rho(both["value"], both["value_judge"]), model, rank, rank_judge,
        sum(signs[0][pair] != signs[1][pair] for pair in shared), len(shared),
    )  # fmt: skip


@cache
def _significant(rater: str) -> dict[tuple[str, str], bool]:
    """Return the pairs that differ significantly, in the order of their names, and whether the first is better."""
    pairs = overall(rater).compare_all(resamples=2_000).filter("significant")
    return {
        (min(a, b), max(a, b)): (difference > 0) == (a < b)
        for a, b, difference in pairs.select("model_a", "model_b", "difference").iter_rows()
    }


def main() -> None:
    """Print the tables."""
    given = pl.read_parquet(FOLDER / "ratings.parquet")
    print(means(given))
    print(correlations(given))
    for judge in JUDGES:
        print(moved(judge))
    for size in SIZES:
        print(turned("human therapist", "Qwen-3-4B", "guidance", size, DRAWS))
    of_these, of_population = (
        pl.concat(frame(draws(size, DRAWS, population=population)) for size in SIZES) for population in (False, True)
    )
    for lines in (
        by_judge(of_these, of_population),
        beside_the_best(of_these),
        by_attribute(of_these.filter(size=100)),
    ):
        print(*lines, sep="\n", end="\n\n")


if __name__ == "__main__":
    main()
