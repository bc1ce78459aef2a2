"""Question agreement: which binary questions a model answers as the participants did.

Scores of whole turns do not say which question was missed, so this needs the conversations and the run files.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.benchmarks.attunebench.analyses.scored import scored_runs
from attune_bench.benchmarks.attunebench.conversation_score import hp_asked
from attune_bench.benchmarks.attunebench.reference import BINARY_TASKS, Truth, prepare_truth
from attune_bench.score_table import ScoreTable
from attune_bench.stats.intervals import interval_ends
from attune_bench.stats.options import AnalysisOptions, SamplingKeywords
from attune_bench.stats.series import Draws, ScoreSeries
from attune_bench.undefined import null
from attune_data import Conversation, Run
from attune_data.attunebench.codebook import load_codebook
from attune_metrics.attunebench.composite import DOCUMENTED, get_protocol
from attune_metrics.metric import MetricInputError
from attune_metrics.stats.bootstrap import Interval, bootstrap

__all__ = ["question_agreement"]

_RIGHT, _ASKED, _PRESENT = range(3)


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
        ``task, question, model, condition, agreement, low, high, answers, n, clusters, coverage, reason``; questions in
        the order of the codebook. Truth and predictions count as in scoring, where a missing prediction is a no, so
        that the mean of a task's agreements, weighted by ``answers``, is its pooled accuracy. ``answers`` counts the
        turns whose truth is yes or no, in ``n`` conversations; ``coverage`` is the share of them with a prediction.

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
    chosen = AnalysisOptions(**options)
    series = ScoreSeries(scores)
    counts = _counts(scores, series, data, results)
    draws = Draws(series, chosen)
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
            with draws.warning.of_all():
                of_part = bootstrap(
                    values[places][:, [_RIGHT, _ASKED]][:, :, mask],
                    draws.of(mask),
                    statistic=lambda sums, _: sums[..., _RIGHT] / sums[..., _ASKED],
                    method=chosen.interval,
                    level=chosen.level,
                )
            intervals |= zip(places.tolist(), of_part, strict=True)
        for place, (found, there) in enumerate(zip(values, present, strict=True)):
            question, group = divmod(place, len(series.groups))
            interval = intervals[place]
            clusters = series.count(there)
            asked = int(found[_ASKED, there].sum())
            low, high, reason = interval_ends(interval, clusters, scores)
            coverage = float(found[_PRESENT, there].sum()) / asked if asked else None
            sizes = asked, interval.n, clusters, coverage
            rows.append(
                (task, questions[question], *series.groups[group], null(interval.estimate), low, high, *sizes, reason)
            )
    schema: dict[str, Any] = {
        **dict.fromkeys(("task", "question", "model", "condition"), str),
        **dict.fromkeys(("agreement", "low", "high"), float),
        **dict.fromkeys(("answers", "n", "clusters"), int),
        "coverage": float,
        "reason": str,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _counts(
    scores: ScoreTable, series: ScoreSeries, data: Iterable[Conversation], runs: Iterable[Run]
) -> dict[tuple[str, str], Any]:
    """Return by task and question the number right, asked and predicted (groups, 3, units), nan where not asked."""
    protocol = get_protocol(scores.provenance.protocol or DOCUMENTED)
    place_of = {unit: place for place, unit in enumerate(series.units)}
    truths: dict[str, Truth] = {}
    for conversation in data:
        if conversation.id in place_of and conversation.id not in truths:
            truths[conversation.id] = prepare_truth(conversation, protocol)
    group_of = {group: place for place, group in enumerate(series.groups)}
    shape = len(series.groups), 3, len(series.units)
    counts: dict[tuple[str, str], Any] = {}
    for run in scored_runs(scores, runs):
        if run.conversation_id not in truths:
            raise MetricInputError(f"conversation {run.conversation_id!r} was scored and is not in the data")
        group, unit = group_of[run.em_model, run.mode], place_of[run.conversation_id]
        turns = {turn.turn_number: turn for turn in run.turns}
        asks_hp = hp_asked(run)
        tallies: dict[tuple[str, str], list[int]] = {}
        for number, truth in truths[run.conversation_id].turns.items():
            for task, sides in BINARY_TASKS.items():
                if number not in turns or (task.endswith("_hp") and not asks_hp):
                    continue
                answered, answers = sides(truth, turns[number])
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
