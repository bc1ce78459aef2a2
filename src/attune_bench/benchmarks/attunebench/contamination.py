"""Contamination: whether a model gives back messages that it was shown half of.

A message is reproduced where the model's continuation of its first half holds a run of consecutive words of its second
half, see `attune_metrics.attunebench.continuation.is_reproduced`. Two controls tell what else could do that. Shuffled:
the same continuation against the second halves of other participants' messages, of the nearest lengths. Paraphrased:
a paraphrase of the message, cut and continued in the same way, which nobody can have memorized.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import polars as pl
from typing_extensions import Unpack

from attune_bench.benchmarks.attunebench.run_analyses import scored_conversations, scored_runs
from attune_bench.scores.columns import FrameColumn, build_frame, columns, said_by_condition, share, text, whole
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.options import ALPHA, AnalysisOptions, SamplingKeywords, begin, interval_ends
from attune_data import Conversation, Run
from attune_data.text import plural
from attune_metrics.attunebench.continuation import common_run, halves, is_long_run, words
from attune_metrics.metric import nan_to_none
from attune_metrics.stats.cluster_means import share_of_clusters_interval
from attune_metrics.stats.comparison import holm, paired_permutation_test

CONTROLS = 5
"""With how many messages of other participants a continuation is compared."""

ORIGINAL = "original"
TEXTS = (ORIGINAL, "shuffled", "paraphrased")

CONTAMINATION = columns(
    "model condition text reproduced low high difference p p_holm similarity probes unread n clusters reason",
    text=text("`original`, or the control: `shuffled` or `paraphrased`."),
    reproduced=share("Share of the comparisons in which the second half is reproduced."),
    difference=share(
        "Share of the original that is reproduced minus the share of the control, on the messages that have both.",
    )._replace(low=-1, signed=True),
    p="p-value of the test that exchanges the original and the control within each participant.",
    p_holm="p-value with Holm's correction for all models and controls of the mode.",
    similarity=FrameColumn(
        "Mean length of the longest common run of words, as a share of the second half.", low=0, high=1, shown="plain"
    ),
    probes=whole("How many comparisons of a continuation with a second half."),
    unread=whole("How many probes of the original have no answer that could be read."),
    n="How many conversations these are from.",
)


Group = tuple[str, str | None]
WordRun = tuple[int, int]
"""The words of the longest common run, and of the second half."""


class _Probe(NamedTuple):
    """The conversation of a probe, and the common runs of its continuation with each of `TEXTS`."""

    unit: str
    runs: Mapping[str, Sequence[WordRun]]


class _Half(NamedTuple):
    """The second half of a message, and the participant that it is from."""

    size: int
    end: str
    person: tuple[str, str]


def contamination(
    scores: ScoreTable, *, data: Iterable[Conversation], results: Iterable[Run], **options: Unpack[SamplingKeywords]
) -> pl.DataFrame:
    """Return which share of messages each model reproduces from their first halves, and the same of two controls.

    Parameters
    ----------
    scores : ScoreTable
        The scores.
    data : iterable of Conversation
        The conversations that were scored.
    results : iterable of Run
        The runs that were scored, made with probes; others do not count.
    **options
        ``resamples``, ``seed``, ``level`` and ``unit``; see `attune_bench.stats.options.AnalysisOptions`. The intervals
        are by formula; ``resamples`` and ``seed`` are of the tests.

    Returns
    -------
    polars.DataFrame
        The columns `CONTAMINATION`: for each model and mode that was probed a row for each of `TEXTS`, with the
        interval of `attune_metrics.stats.cluster_means.share_of_clusters_interval`; ``p`` is from
        `attune_metrics.stats.comparison.paired_permutation_test`, on the messages that both have. A control that is not
        there has no values, for the ``reason``.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, a conversation or run that was scored is not there, or the scores
        are means over repeats.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> conversations = load("demo")
    >>> def recited(run):
    ...     turns = zip(run.turns, conversations[run.conversation_id].turns)
    ...     told = [turn.model_copy(update={"em_continuation": own.user_message}) for turn, own in turns]
    ...     return run.model_copy(update={"turns": tuple(told)})
    >>> recited = [recited(run) for run in load_runs("demo")]
    >>> found = contamination(score(conversations, recited), data=conversations, results=recited)
    >>> found.select("text", "reproduced", "reason").rows()[::2][:2]
    [('original', 1.0, None), ('paraphrased', None, 'no paraphrases were probed')]
    """
    chosen, series, _ = begin(scores, options)
    cluster_of = dict(zip(series.units, series.clusters(chosen), strict=True))
    person_of = dict(zip(series.units, series.labels, strict=True))
    ends = {
        (conversation.id, turn.turn_number): cut.end
        for conversation in scored_conversations(scores, data).values()
        for turn in conversation.turns
        if (cut := halves(turn.user_message or "")) is not None
    }
    pool = sorted({_Half(len(words(end)), end, person_of[unit]) for (unit, _), end in ends.items()})
    asked: dict[Group, list[_Probe]] = {}
    unread: dict[Group, int] = {}
    for run in scored_runs(scores, results):
        group: Group = (run.em_model, run.mode)
        given = list(_probes(run, ends, pool, person_of[run.conversation_id]))
        planned = sum(name.endswith("/probe") for name in (run.model_extra or {}).get("calls", {}))
        asked.setdefault(group, []).extend(given)
        unread[group] = unread.get(group, 0) + max(planned - len(given), 0)
    rows: list[dict[str, Any]] = []
    for group in series.groups:
        for name in TEXTS if asked.get(group) or unread.get(group) else ():
            found = [(probe, probe.runs[name]) for probe in asked[group] if probe.runs.get(name)]
            units = {probe.unit for probe, _ in found}
            row: dict[str, Any] = {"model": group[0], "condition": group[1], "text": name, "n": len(units)}
            row |= {"probes": sum(len(runs) for _, runs in found), "clusters": series.count(series.mask(units))}
            row["unread"] = unread[group] if name == ORIGINAL else None
            if not found:
                rows.append(row | {"reason": _LACKING[name]})
                continue
            hits = [float(is_long_run(*run)) for _, runs in found for run in runs]
            labels = [cluster_of[probe.unit] for probe, runs in found for _ in runs]
            [interval] = share_of_clusters_interval(hits, labels, level=chosen.level)
            row["low"], row["high"], row["reason"] = interval_ends(interval, row["clusters"], scores)
            row["reproduced"] = nan_to_none(interval.estimate)
            row["similarity"] = fmean(run / size for _, runs in found for run, size in runs)
            if name != ORIGINAL:
                row |= _tested(found, [cluster_of[probe.unit] for probe, _ in found], chosen)
            rows.append(row)
    for condition in dict.fromkeys(row["condition"] for row in rows):
        tested = [row for row in rows if row["condition"] == condition and row.get("p") is not None]
        for row, corrected in zip(tested, holm([row["p"] for row in tested]).tolist(), strict=True):
            row["p_holm"] = corrected
    return build_frame(CONTAMINATION, rows)


def _tested(
    found: Sequence[tuple[_Probe, Sequence[WordRun]]], clusters: Sequence[tuple[str, str]], options: AnalysisOptions
) -> dict[str, float | None]:
    """Return the difference of original and control, and the p-value of their exchange within clusters."""
    sides = [(fmean(is_long_run(*run) for run in of) for of in (probe.runs[ORIGINAL], runs)) for probe, runs in found]
    original, control = zip(*sides, strict=True)
    [test] = paired_permutation_test(original, control, clusters, n_permutations=options.resamples, seed=options.seed)
    return {"difference": fmean(original) - fmean(control), "p": nan_to_none(test.p_value)}


_LACKING = {
    ORIGINAL: "no continuation could be read",
    "shuffled": "no message of another participant",
    "paraphrased": "no paraphrases were probed",
}


def _probes(
    run: Run, ends: Mapping[tuple[str, int], str], pool: list[_Half], person: tuple[str, str]
) -> Iterator[_Probe]:
    """Yield the probes of a run that were answered, with the longest common run of each comparison."""
    for turn in run.turns:
        end = ends.get((run.conversation_id, turn.turn_number))
        if end is None or not turn.em_continuation:
            continue
        runs = {
            ORIGINAL: [_run(end, turn.em_continuation)],
            "shuffled": [_run(other, turn.em_continuation) for other in _others(pool, end, person)],
        }
        if turn.em_paraphrase_continuation and words(turn.paraphrase_end):
            runs["paraphrased"] = [_run(turn.paraphrase_end, turn.em_paraphrase_continuation)]
        yield _Probe(run.conversation_id, runs)


def _run(end: str, said: str) -> WordRun:
    return common_run(end, said), len(words(end))


def _others(pool: list[_Half], end: str, person: tuple[str, str]) -> list[str]:
    """Return second halves of other participants' messages, those of the nearest lengths; never the same text."""
    size = len(words(end))
    right = bisect_left(pool, (size,))
    left = right - 1
    found: list[str] = []
    while len(found) < CONTROLS and (left >= 0 or right < len(pool)):
        nearer = left < 0 or (right < len(pool) and pool[right].size - size <= size - pool[left].size)
        half = pool[right if nearer else left]
        left, right = (left, right + 1) if nearer else (left - 1, right)
        if half.person != person and half.end != end:
            found.append(half.end)
    return found


def reproduced_shown(scores: ScoreTable, frame: pl.DataFrame) -> str:
    """Say how many models reproduce significantly more than each control, by condition; nothing without intervals.

    A model does where the corrected p-value is below 0.05 and the difference above 0.

    Examples
    --------
    >>> from attune_bench import Scores
    >>> scores = Scores.from_table(pl.DataFrame({"model": "m", "unit": "u", "metric": "hit", "value": [1.0]}))
    >>> shares = {"text": [*TEXTS[:2]], "reproduced": [0.3, 0.0], "p_holm": [None, 0.01], "difference": [None, 0.3],
    ...           "probes": 9}
    >>> reproduced_shown(scores, pl.DataFrame({"model": "m", "condition": None, **shares}))
    '1 of 1 model reproduces more than the shuffled control (30.0%); paraphrases were not probed.'
    """
    return said_by_condition(
        scores, frame, lambda rows: _shown({(row["model"], row["text"]): row for row in rows.to_dicts()})
    )


def _shown(rows: Mapping[tuple[str, str], Mapping[str, Any]]) -> str:
    parts: list[str] = []
    for control in TEXTS[1:]:
        pairs = [(rows[model, "original"], row) for (model, name), row in rows.items() if name == control]
        known = [(own["reproduced"], other) for own, other in pairs if other["p_holm"] is not None]
        if not known:
            continue
        above = [own for own, other in known if other["p_holm"] < ALPHA and other["difference"] > 0]
        most = f" ({'at most ' if len(above) > 1 else ''}{max(above):.1%})" if above and not parts else ""
        of = f"{len(above)} of {plural(len(known), 'model')}"
        verb = "reproduces" if 1 in (len(above), len(known)) else "reproduce"
        parts.append(f"{of} {verb} more than the {control} control{most}")
    if parts and not any(row["probes"] for (_, name), row in rows.items() if name == "paraphrased"):
        parts.append("paraphrases were not probed")
    return f"{'; '.join(parts)}." if parts else ""
