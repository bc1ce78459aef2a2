"""The analyses of scores with their runs: what judges of drafts gave, and which questions were answered as by people.

Judges of drafts
----------------
How far several agree, and how each alone would rank the models.

Scores keep the judges' mean; what each said is in the run files, under ``em_draft_judge_scores_by_model`` and
``em_draft_binary_assessment_by_model``.

Question agreement
------------------
Which binary questions a model answers as the participants did.

Scores of whole turns do not say which question was missed, so this needs the conversations and the run files.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from math import fsum, isnan
from operator import itemgetter
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.benchmarks.attunebench.conversation_score import BINARY_TASKS, answers_by_turn, hp_asked
from attune_bench.scores.columns import FrameColumn, build_frame, columns, share, text, whole
from attune_bench.scores.parts import KEYS
from attune_bench.scores.table import ScoreTable
from attune_bench.scores.tables_in import score_table
from attune_bench.stats.comparability import check_within_conditions
from attune_bench.stats.options import (
    AnalysisOptions,
    SamplingKeywords,
    ScoreSeries,
    begin,
    interval_ends,
)
from attune_bench.stats.rank import rank
from attune_data import Conversation, Run
from attune_data.attunebench.codebook import load_codebook
from attune_data.attunebench.spellings import ANSWER
from attune_data.repair import IssueCollector
from attune_metrics.attunebench.preferences import JUDGE_DIMENSIONS, score_draft_judge
from attune_metrics.metric import MetricInputError, nan_to_none
from attune_metrics.stats.agreement import MeasurementLevel, krippendorff_alpha_interval
from attune_metrics.stats.bootstrap import Interval, bootstrap, draw_resamples


def scored_runs(scores: ScoreTable, runs: Iterable[Run]) -> Iterator[Run]:
    """Yield the runs that were scored, each once.

    Raises
    ------
    MetricInputError
        Where the scores are means over repeats, so that no single run was scored; where runs are several
        repeats of one that was scored; at the end, where a run that was scored is not among the runs.
    """
    if scores.repeats is not None:
        raise MetricInputError("these scores are means over repeats, which have no answers; score one repeat alone")
    missing = {(unit, model, mode) for model, mode, unit in scores.values.select(KEYS).iter_rows()}
    repeat_of: dict[tuple[str, str, str], int] = {}
    for run in runs:
        of_row = run.conversation_id, run.em_model, run.mode
        if repeat_of.get(of_row, run.repeat) != run.repeat:
            raise MetricInputError(
                f"the runs are repeats {repeat_of[of_row]} and {run.repeat} of model {run.em_model!r}, mode "
                f"{run.mode!r} on conversation {run.conversation_id!r}; give only the repeat that was scored"
            )
        if of_row in missing:
            missing.remove(of_row)
            repeat_of[of_row] = run.repeat
            yield run
    if missing:
        conversation_id, model, mode = min(missing)
        raise MetricInputError(
            f"the run of model {model!r}, mode {mode!r} on conversation {conversation_id!r} was scored and is not "
            "among the runs; are these the runs of these scores?"
        )


def scored_conversations(scores: ScoreTable, data: Iterable[Conversation]) -> dict[str, Conversation]:
    """Return the conversations that were scored, by id; of several with one id the first.

    Raises
    ------
    MetricInputError
        Where a conversation that was scored is not in the data.
    """
    known = {one.id: one for one in reversed(list(data))}
    units = sorted(scores.units["unit"])
    if missing := [unit for unit in units if unit not in known]:
        raise MetricInputError(f"conversation {missing[0]!r} was scored and is not in the data")
    return {unit: known[unit] for unit in units}


ALL = "all"
"""What stands for the judges together."""

JUDGED = "avg_draft_judge_score"
_ANSWERS = "binary answers"
_CODES = {"yes": 0.0, "no": 1.0, "na": 2.0}
_Judgement = tuple[str, Mapping[str, float]]  # The conversation of a draft, and what each judge gave.


JUDGE_AGREEMENT = columns(
    "condition rated judge_a judge_b alpha low high shift judged n clusters reason",
    rated=text("A dimension of the ratings, or `binary answers`."),
    judge_a=text("The first judge; `all` where it is of more than two together.", "A"),
    judge_b=text("The second judge; empty where it is of all.", "B"),
    alpha=FrameColumn("Krippendorff's alpha: 1 is perfect agreement, 0 is chance.", high=1),
    shift=FrameColumn("Mean rating of the second judge minus the first judge's, on what both rated.", signed=True),
    judged=whole("How many drafts, or answers, at least two judges gave."),
    n="How many conversations these are from.",
)


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
        The columns `JUDGE_AGREEMENT`. ``rated`` is a dimension of the ratings, or ``binary answers``; ``alpha`` is
        Krippendorff's, at interval level for ratings, whose mean is scored, and nominal for answers. ``judge_a`` is
        ``all`` where it is of more than two judges together. ``shift`` is the mean rating of ``judge_b`` minus the mean
        rating of ``judge_a`` on what both rated. ``judged`` counts the drafts, or the answers, that at least two judges
        gave, in ``n`` conversations. No rows where no draft has two judges.

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
    chosen, series, _ = begin(scores, options)
    judgements: dict[tuple[str, str], list[_Judgement]] = {}
    for mode, rated, conversation, said in sorted(_judgements(scores, results), key=itemgetter(0, 2)):
        judgements.setdefault((mode, rated), []).append((conversation, said))
    rows: list[dict[str, Any]] = []
    for mode, rated in product(dict.fromkeys(mode for mode, _ in judgements), (*JUDGE_DIMENSIONS, _ANSWERS)):
        found = judgements.get((mode, rated), [])
        judges = sorted({judge for _, said in found for judge in said})
        groups = [*([judges] if len(judges) > 2 else []), *combinations(judges, 2)]
        about = {"condition": mode, "rated": rated}
        rows += [about | _agreement(found, group, rated, series, chosen) for group in groups]
    return build_frame(JUDGE_AGREEMENT, rows)


JUDGE_RANKS = columns(
    "judge model condition value rank low high n clusters reason",
    judge=text("The judge; `all` as scored."),
    value="Draft judge score by this judge's ratings alone.",
    low=FrameColumn("Best rank of the interval.", low=1),
    high=FrameColumn("Worst rank of the interval.", low=1),
)


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
        The columns `JUDGE_RANKS`, as from `attune_bench.stats.rank.rank`, of ``avg_draft_judge_score`` from the ratings
        of one judge, or of ``all``, as scored. No rows where no run names its judges.

    Raises
    ------
    MetricInputError, MixedSettingsError
        As `judge_agreement` and `attune_bench.stats.rank.rank`.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> runs = load_runs("demo")
    >>> judge_ranks(score(load("demo"), runs), results=runs).height
    0
    """
    begin(scores, options, weighted=True)  # refuses options that do not fit, whatever the runs have
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
        return build_frame(JUDGE_RANKS, [])
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
    table = score_table(pl.DataFrame(rows, schema=schema, orient="row"), about=about)
    found = rank(table, **options, metrics=list(judges))
    named = pl.col("metric").replace_strict(judges, return_dtype=pl.String)
    return found.with_columns(named.alias("judge")).select(*JUDGE_RANKS)


def _judgements(scores: ScoreTable, results: Iterable[Run]) -> Iterator[tuple[str, str, *_Judgement]]:
    """Yield what judges with a recorded name said of each draft: mode, dimension (or answers) and judgement."""
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
                    code = _CODES.get(ANSWER(answer, "", IssueCollector("")))
                    if code is not None:
                        answers.setdefault(question, {})[judge] = code
            for rated, given in [*ratings.items(), *((_ANSWERS, of_question) for of_question in answers.values())]:
                yield run.mode, rated, run.conversation_id, given


def _agreement(
    found: Sequence[_Judgement], judges: Sequence[str], rated: str, series: ScoreSeries, options: AnalysisOptions
) -> dict[str, Any]:
    """Return the columns of a group of judges."""
    both = [(conversation, said) for conversation, said in found if sum(judge in said for judge in judges) > 1]
    table = np.array([[said.get(judge, np.nan) for judge in judges] for _, said in both]).reshape(-1, len(judges))
    conversations = {conversation for conversation, _ in both}
    drawn = dict(zip(series.units, series.clusters(options), strict=True))
    clusters_of = [drawn[conversation] for conversation, _ in both]
    draws = draw_resamples(clusters_of, n_resamples=options.resamples, seed=options.seed)
    level: MeasurementLevel = "nominal" if rated == _ANSWERS else "interval"
    interval = krippendorff_alpha_interval(table, draws, level=level, method=options.interval, confidence=options.level)
    clusters = len({label for unit, label in zip(series.units, series.labels, strict=True) if unit in conversations})
    low, high, reason = interval_ends(interval, clusters, series.table)
    pair = len(judges) == 2
    shift = fsum(table[:, 1] - table[:, 0]) / len(both) if pair and rated != _ANSWERS and both else None
    return {
        "judge_a": judges[0] if pair else ALL, "judge_b": judges[1] if pair else None,
        "alpha": nan_to_none(interval.estimate), "low": low, "high": high, "shift": shift,
        "judged": len(both), "n": len(conversations), "clusters": clusters, "reason": reason,
    }  # fmt: skip


_RIGHT, _ASKED, _PRESENT = range(3)


QUESTION_AGREEMENT = columns(
    "task question model condition agreement low high answers n clusters coverage reason",
    task=text("The task: what the model predicts, and from whose view."),
    question=text("Question of the codebook, such as B7."),
    agreement=share("Share of the answers that are the participant's; a missing one counts as no."),
    answers=whole("How many turns the participant answered yes or no."),
    coverage="Share of these turns that have a prediction.",
)


def question_agreement(
    scores: ScoreTable, *, data: Iterable[Conversation], results: Iterable[Run], **options: Unpack[SamplingKeywords]
) -> pl.DataFrame:
    """Return on which share of its turns each model answers each binary question as the participant did.

    Parameters
    ----------
    scores : ScoreTable
        The scores.
    data : iterable of Conversation
        The conversations that were scored.
    results : iterable of Run
        The runs that were scored; others do not count.
    **options
        ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see
        `attune_bench.stats.options.AnalysisOptions`.

    Returns
    -------
    polars.DataFrame
        The columns `QUESTION_AGREEMENT`; questions in the order of the codebook. Truth and predictions count as in
        scoring, where a missing prediction is a no, so that the mean of a task's agreements, weighted by ``answers``,
        is its pooled accuracy. ``answers`` counts the turns with a reference of yes or no, in ``n`` conversations;
        ``coverage`` is the share of them with a prediction.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, records contradict each other, a conversation or run that was
        scored is not there, the scores are means over repeats, or runs are several repeats of one that was scored.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> conversations, runs = load("demo"), load_runs("demo")
    >>> found = question_agreement(score(conversations, runs), data=conversations, results=runs)
    >>> found.select("task", "question", "answers", "n").rows()[0]
    ('binary_om', 'B1', 147, 38)
    """
    _, series, draws = begin(scores, options)
    counts = _counts(scores, series, data, results)
    rows: list[tuple[Any, ...]] = []
    known = {question: place for place, question in enumerate(load_codebook().binary)}
    for task in BINARY_TASKS:
        questions = sorted((q for t, q in counts if t == task), key=lambda q: (known.get(q, len(known)), q))
        if not questions:
            continue
        # (questions x groups, terms, units), questions slowest.
        values = np.concatenate([counts[task, question] for question in questions])
        present = ~np.isnan(values[:, _ASKED])
        intervals: dict[int, Interval] = {}
        for mask, places in draws.parts(present, present):
            of_part = values[places][:, [_RIGHT, _ASKED]][:, :, mask]
            found_of: list[Interval] = draws.intervals(
                bootstrap, of_part, mask, statistic=lambda sums, _: sums[..., _RIGHT] / sums[..., _ASKED]
            )
            intervals |= zip(places.tolist(), found_of, strict=True)
        for place, (found, there) in enumerate(zip(values, present, strict=True)):
            question, group = divmod(place, len(series.groups))
            interval = intervals[place]
            clusters = series.count(there)
            asked = int(found[_ASKED, there].sum())
            low, high, reason = interval_ends(interval, clusters, scores)
            coverage = float(found[_PRESENT, there].sum()) / asked if asked else None
            identity = task, questions[question], *series.groups[group]
            estimate = nan_to_none(interval.estimate), low, high
            rows.append((*identity, *estimate, asked, interval.n, clusters, coverage, reason))
    return build_frame(QUESTION_AGREEMENT, rows)


def _counts(
    scores: ScoreTable, series: ScoreSeries, data: Iterable[Conversation], runs: Iterable[Run]
) -> dict[tuple[str, str], Any]:
    """Return by task and question the number right, asked and predicted (groups, 3, units), nan where not asked."""
    place_of = {unit: place for place, unit in enumerate(series.units)}
    truths = {unit: answers_by_turn(one) for unit, one in scored_conversations(scores, data).items()}
    group_of = {group: place for place, group in enumerate(series.groups)}
    shape = len(series.groups), 3, len(series.units)
    counts: dict[tuple[str, str], Any] = {}
    for run in scored_runs(scores, runs):
        group, unit = group_of[run.em_model, run.mode], place_of[run.conversation_id]
        turns = {turn.turn_number: turn for turn in run.turns}
        asks_hp = hp_asked(run)
        tallies: dict[tuple[str, str], list[int]] = {}
        for number, truth in truths[run.conversation_id].items():
            for task, (reference, prediction) in BINARY_TASKS.items():
                if number not in turns or (task.endswith("_hp") and not asks_hp):
                    continue
                answered, answers = truth[reference], getattr(turns[number], prediction)
                for expected, questions in (("yes", answered.yes), ("no", answered.no)):
                    for question in questions:
                        answer = answers.get(question)
                        tally = tallies.setdefault((task, question), [0, 0, 0])
                        tally[_RIGHT] += (answer == "yes") == (expected == "yes")
                        tally[_ASKED] += 1
                        tally[_PRESENT] += answer is not None
        for key, tally in tallies.items():
            if key not in counts:
                counts[key] = np.full(shape, np.nan)
            counts[key][group, :, unit] = tally
    return counts
