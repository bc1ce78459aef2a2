"""Judges of drafts: how far several agree, and how each alone would rank the models.

Scores keep the judges' mean; what each said is in the run files, under ``em_draft_judge_scores_by_model`` and
``em_draft_binary_assessment_by_model``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import fsum, isnan
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.benchmarks.attunebench.analyses.scored import scored_runs
from attune_bench.score_table import ScoreTable
from attune_bench.scores import Scores
from attune_bench.stats.comparability import check_within_conditions
from attune_bench.stats.intervals import interval_ends
from attune_bench.stats.options import AnalysisOptions, SamplingKeywords
from attune_bench.stats.ranking import rank
from attune_bench.stats.series import Draws, ScoreSeries
from attune_bench.undefined import null
from attune_data import Run
from attune_data.attunebench.spellings import ANSWER
from attune_data.repair import Findings
from attune_metrics.attunebench.preferences import JUDGE_DIMENSIONS, score_draft_judge
from attune_metrics.stats.agreement import MeasurementLevel, krippendorff_alpha_interval
from attune_metrics.stats.bootstrap import draw_resamples

__all__ = ["ALL", "JUDGED", "judge_agreement", "judge_ranks"]

ALL = "all"
"""What stands for the judges together."""

JUDGED = "avg_draft_judge_score"
_ANSWERS = "binary answers"
_CODES = {"yes": 0.0, "no": 1.0, "na": 2.0}
_AGREEMENT: dict[str, Any] = {
    **dict.fromkeys(("condition", "rated", "judge_a", "judge_b"), pl.String),
    **dict.fromkeys(("alpha", "low", "high", "shift"), pl.Float64),
    **dict.fromkeys(("judged", "n", "clusters"), pl.Int64),
    "reason": pl.String,
}
_RANKS: dict[str, Any] = {
    **dict.fromkeys(("judge", "model", "condition"), pl.String),
    **dict.fromkeys(("value", "rank", "low", "high"), pl.Float64),
    **dict.fromkeys(("n", "clusters"), pl.Int64),
    "reason": pl.String,
}


class _Judgement(NamedTuple):
    """What the judges of a draft said: by dimension or question, then by judge."""

    mode: str
    conversation: str
    ratings: Mapping[str, Mapping[str, float]]
    answers: Mapping[str, Mapping[str, float]]


def judge_agreement(scores: ScoreTable, *, results: Iterable[Run], **options: Unpack[SamplingKeywords]) -> pl.DataFrame:
    """Return how far the judges of drafts agree, all of them and every two, in each mode.

    Parameters
    ----------
    scores : ScoreTable
        The scores.
    results : iterable of Run
        The runs that were scored; others do not count.
    **options
        ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see
        `attune_bench.stats.options.AnalysisOptions`.

    Returns
    -------
    polars.DataFrame
        ``condition, rated, judge_a, judge_b, alpha, low, high, shift, judged, n, clusters, reason``. ``rated`` is a
        dimension of the ratings, or ``binary answers``; ``alpha`` is Krippendorff's, at interval level for ratings,
        whose mean is scored, and nominal for answers. ``judge_a`` is ``all`` where it is of more than two judges
        together. ``shift`` is the mean rating of ``judge_b`` minus that of ``judge_a`` on what both rated. ``judged``
        counts the drafts, or the answers, that at least two judges gave, in ``n`` conversations. No rows where no
        draft has two judges.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, or a run that was scored is not there.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> runs = load_runs("demo")  # one judge, whose name is not recorded
    >>> judge_agreement(score(load("demo"), runs), results=runs).height
    0
    """
    chosen = AnalysisOptions(**options)
    series = ScoreSeries(scores)
    Draws(series, chosen)  # refuses what this analysis does not do
    judgements = sorted(_judgements(scores, results), key=lambda one: (one.mode, one.conversation))
    rows: list[dict[str, Any]] = []
    for mode in dict.fromkeys(one.mode for one in judgements):
        own = [one for one in judgements if one.mode == mode]
        for rated in (*JUDGE_DIMENSIONS, _ANSWERS):
            found = list(_rated(own, rated))
            judges = sorted({judge for _, said in found for judge in said})
            groups = [*([judges] if len(judges) > 2 else []), *map(list, combinations(judges, 2))]
            rows += [
                {"condition": mode, "rated": rated, **_agreement(found, group, rated, series, chosen)}
                for group in groups
            ]
    return pl.DataFrame(rows, schema=_AGREEMENT, orient="row")


def judge_ranks(scores: ScoreTable, *, results: Iterable[Run], **options: Unpack[SamplingKeywords]) -> pl.DataFrame:
    """Return how each judge alone ranks the models, by the score of drafts, beside the ranks by all judges.

    Parameters
    ----------
    scores, results
        As for `judge_agreement`.
    **options
        As for `judge_agreement`, and ``weight``; no BCa.

    Returns
    -------
    polars.DataFrame
        ``judge, model, condition, value, rank, low, high, n, clusters, reason``: as
        `attune_bench.stats.ranking.rank` gives them, of ``avg_draft_judge_score`` from the ratings of one judge, or of
        ``all``, as scored. No rows where no run names its judges.

    Raises
    ------
    MetricInputError, MixedSettingsError
        As `judge_agreement` and `attune_bench.stats.ranking.rank`.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> runs = load_runs("demo")
    >>> judge_ranks(score(load("demo"), runs), results=runs).height
    0
    """
    chosen = AnalysisOptions(**options)
    Draws(ScoreSeries(scores), chosen, weighted=True)
    clusters = dict(scores.units.select("unit", "cluster").iter_rows())
    by_judge: dict[str, list[tuple[str, str, str, float]]] = {}
    for run in scored_runs(scores, results):
        of_turns: dict[str, list[float]] = {}
        for turn in run.turns:
            for judge, said in turn.em_draft_judge_scores_by_model.items():
                if isinstance(said, Mapping) and not isnan(value := score_draft_judge(said)):
                    of_turns.setdefault(judge, []).append(value)
        for judge, values in of_turns.items():
            by_judge.setdefault(judge, []).append((run.em_model, run.conversation_id, run.mode, fmean(values)))
    if not by_judge:
        return pl.DataFrame(schema=_RANKS)
    check_within_conditions(scores, [JUDGED])
    as_scored = scores.values.select("model", "unit", "condition", JUDGED).drop_nulls().rows()
    # The metrics of a table of scores: one for each judge, under a name that no other column has.
    judges = {f"judge {place}": judge for place, judge in enumerate((ALL, *sorted(by_judge)))}
    rows = [
        (model, unit, mode, clusters[unit], name, value)
        for name, judge in judges.items()
        for model, unit, mode, value in (by_judge[judge] if name != "judge 0" else as_scored)
    ]
    schema = {**dict.fromkeys(("model", "unit", "condition", "cluster", "metric"), pl.String), "value": pl.Float64}
    held = scores.provenance
    about = {"unit": held.unit, "condition": held.condition}
    if any(cluster is not None for cluster in clusters.values()):
        about["cluster"] = held.cluster
    table = Scores.from_table(pl.DataFrame(rows, schema=schema, orient="row"), about=about)
    found = rank(table, **options, metrics=list(judges))
    named = pl.col("metric").replace_strict(judges, return_dtype=pl.String)
    return found.with_columns(named.alias("judge")).select(*_RANKS)


def _judgements(scores: ScoreTable, results: Iterable[Run]) -> Iterator[_Judgement]:
    """Yield what judges said of each draft, of those whose names are recorded."""
    for run in scored_runs(scores, results):
        for turn in run.turns:
            ratings: dict[str, dict[str, float]] = {}
            answers: dict[str, dict[str, float]] = {}
            for judge, said in turn.em_draft_judge_scores_by_model.items():
                for dimension in JUDGE_DIMENSIONS:
                    rating = said.get(dimension) if isinstance(said, Mapping) else None
                    if isinstance(rating, int | float) and not isinstance(rating, bool) and not isnan(rating):
                        ratings.setdefault(dimension, {})[judge] = min(max(float(rating), 1.0), 7.0)
            for judge, said in turn.em_draft_binary_assessment_by_model.items():
                for question, answer in said.items() if isinstance(said, Mapping) else ():
                    code = _CODES.get(ANSWER(answer, "", Findings("")))
                    if code is not None:
                        answers.setdefault(question, {})[judge] = code
            if ratings or answers:
                yield _Judgement(run.mode, run.conversation_id, ratings, answers)


def _rated(judgements: Iterable[_Judgement], rated: str) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Yield the conversation of each draft, or of each answer, with what each judge gave."""
    for one in judgements:
        if rated != _ANSWERS:
            if rated in one.ratings:
                yield one.conversation, one.ratings[rated]
        else:
            for said in one.answers.values():
                yield one.conversation, said


def _agreement(
    found: Sequence[tuple[str, Mapping[str, float]]],
    judges: Sequence[str],
    rated: str,
    series: ScoreSeries,
    options: AnalysisOptions,
) -> dict[str, Any]:
    """Return the columns of a group of judges."""
    both = [(conversation, said) for conversation, said in found if sum(judge in said for judge in judges) > 1]
    table = np.array([[said.get(judge, np.nan) for judge in judges] for _, said in both]).reshape(-1, len(judges))
    conversations = {conversation for conversation, _ in both}
    drawn = dict(zip(series.units, series.clusters(options), strict=True))
    resamples = draw_resamples(
        [drawn[conversation] for conversation, _ in both], n_resamples=options.resamples, seed=options.seed
    )
    level: MeasurementLevel = "nominal" if rated == _ANSWERS else "interval"
    interval = krippendorff_alpha_interval(
        table, resamples, level=level, method=options.interval, confidence=options.level
    )
    clusters = len({label for unit, label in zip(series.units, series.labels, strict=True) if unit in conversations})
    low, high, reason = interval_ends(interval, clusters, series.table)
    pair = len(judges) == 2
    shift = fsum(table[:, 1] - table[:, 0]) / len(both) if pair and rated != _ANSWERS and both else None
    return {
        "judge_a": judges[0] if pair else ALL, "judge_b": judges[1] if pair else None,
        "alpha": null(interval.estimate), "low": low, "high": high, "shift": shift,
        "judged": len(both), "n": len(conversations), "clusters": clusters, "reason": reason,
    }  # fmt: skip
