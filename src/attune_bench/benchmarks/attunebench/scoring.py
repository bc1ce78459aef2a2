"""Scoring runs: a record a run, a row a record, a column a term; the settings that runs share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import polars as pl
from pydantic_core import from_json

from attune_bench.benchmarks.attunebench.conversation_score import (
    CELLS,
    COUNTS,
    MEANS,
    POOLED,
    ConversationScore,
    columns_of,
)
from attune_bench.benchmarks.attunebench.expected_scores import EXPECTED
from attune_bench.benchmarks.attunebench.other_similarity import (
    Similarity,
    is_of_similarity,
    similarity_metrics,
)
from attune_bench.benchmarks.attunebench.run_scorer import (
    COMPARABILITY_KEYS,
    RecordedSettings,
    RunScorer,
    settings_of_groups,
)
from attune_bench.scores.benchmark import frame_of
from attune_bench.scores.codebook import codebook_hash
from attune_bench.scores.provenance import digest, hash_of, result_digests
from attune_bench.scores.table import CHANCE, KEYS, REPEAT, JsonColumn, Provenance, ScoreTable, over_repeats
from attune_data import Collection, Conversation, Issue, Run
from attune_data.issues import shown
from attune_data.kinds import RUN
from attune_data.query import spelled_alike, text_key
from attune_data.record import gc_paused
from attune_metrics.attunebench import composite, emotion, holistic, panas, preferences, questions
from attune_metrics.attunebench.composite import DOCUMENTED, Protocol
from attune_metrics.metric import Metric, MetricInputError

_SCORED = {*MEANS, *(f"{name}.{score}" for name in POOLED for score in COUNTS if score not in CELLS), "composite_z"}

METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for module in (composite, emotion, questions, preferences, panas, holistic)
    for metric in module.METRICS
    if metric.name in _SCORED
}
"""The catalogue entries of what scored runs have a number of, in the order of reports."""

HEADLINE = (
    *"composite_score avg_emotion_f1 avg_emotion_va_score avg_binary_om_accuracy avg_binary_human_accuracy".split(),
    *"avg_pairwise_accuracy panas_baseline_adjusted four_branch_normalized".split(),
)


def provenance_of(**known: Any) -> Provenance:
    """Return the provenance of scores of this benchmark; `known` is what differs from one to another."""
    return Provenance(
        benchmark="attunebench",
        title="AttuneBench",
        unit="conversation",
        cluster="participant",
        condition="mode",
        primary="composite_score",
        headline=HEADLINE,
        reference="default",
        private=True,
        comparability_keys=dict(COMPARABILITY_KEYS),
        **known,
    )


def scores_of(
    records: Sequence[ConversationScore],
    provenance: Provenance,
    chance: Mapping[str, Mapping[str, float | None]] | None = None,
) -> ScoreTable:
    """Return the scores of runs from their records, and from the scores of random answers to each conversation.

    Raises
    ------
    MetricInputError
        Where two records have the same conversation, model and mode, or one conversation has two participants.
    """
    keys = {
        "model": [record["em_model"] for record in records],
        "condition": [record["mode"] for record in records],
        "unit": [record["conversationId"] for record in records],
    }
    others = tuple(dict.fromkeys(name for record in records for name in record if is_of_similarity(name)))
    frame = frame_of(keys | columns_of(records, others))
    repeated = frame.filter(pl.struct(KEYS).is_duplicated())
    for model, mode, unit in repeated.select(KEYS).head(1).iter_rows():
        where = f"conversation {unit!r}, model {model!r}, mode {mode!r}"
        raise MetricInputError(f"two records of {where}; leave one of them out")
    return scores_from(frame, JsonColumn.of(records), _participants(records), provenance, chance or {}, others)


def scores_from(
    values: pl.DataFrame,
    detail: JsonColumn,
    participants: Mapping[str, str | None],
    provenance: Provenance,
    chance: Mapping[str, Mapping[str, float | None]],
    others: Sequence[str] = (),
) -> ScoreTable:
    """Return scores from their parts.

    Parameters
    ----------
    values : polars.DataFrame
        As in `Scores`; a column ``repeat`` may name the repeats.
    detail : JsonColumn
        The record of each row.
    participants : mapping of str to (str or None)
        The participant of each conversation that is in `values`, by its id.
    provenance : Provenance
        Where the scores come from.
    chance : mapping of str to mapping
        The scores of random answers, by conversation and metric.
    others : sequence of str
        The columns of another measure of similarity.
    """
    names = sorted(participants)
    of_units = {"unit": names, "cluster": spelled_alike(participants[unit] for unit in names)}
    units = pl.DataFrame(of_units, schema=dict.fromkeys(of_units, pl.String))
    units = units.hstack(_chance(chance, units["unit"]))
    metrics = {**METRICS, **similarity_metrics(others)}
    return ScoreTable(values=values, units=units, metrics=metrics, provenance=provenance, detail=detail)


def _chance(known: Mapping[str, Mapping[str, float | None]], units: Iterable[str]) -> pl.DataFrame:
    """Return the scores of random answers to units, a column a metric; a metric unknown for some unit has no column."""
    of_units = [known.get(unit, {}) for unit in units]
    said = [name for name in EXPECTED if all(name in of_unit for of_unit in of_units)]
    columns = {f"{CHANCE}{name}": [of_unit[name] for of_unit in of_units] for name in said}
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Float64))


def chance_by_unit(scores: ScoreTable) -> dict[str, dict[str, float | None]]:
    """Return the scores of random answers to each conversation, by its id and metric; empty if they are unknown."""
    columns = [name for name in scores.units.columns if name.startswith(CHANCE)]
    rows = scores.units.select("unit", *columns).rows() if columns else []
    names = [name.removeprefix(CHANCE) for name in columns]
    return {unit: dict(zip(names, values, strict=True)) for unit, *values in rows}


def _participants(records: Iterable[Mapping[str, Any]]) -> dict[str, str | None]:
    """Return the participant of each conversation, None where no record names one."""
    found: dict[str, str | None] = {}
    for record in records:
        unit, person = record["conversationId"], record.get("participant_id")
        known = found.setdefault(unit, person)
        if text_key(known) and text_key(person) and text_key(known) != text_key(person):
            raise MetricInputError(
                f"conversation {unit!r} is by participant {known!r} in one record and by {person!r} in another; "
                "are these scores of two data sets?"
            )
        found[unit] = known if text_key(known) else person
    return found


_BATCH = 64


def score(
    conversations: Iterable[Conversation],
    runs: Iterable[Run],
    *,
    protocol: str | Protocol = DOCUMENTED,
    similarity: str | Similarity = "jaccard",
    progress: Callable[[int], object] | None = None,
) -> ScoreTable:
    """Score the predictions of evaluated models against what the participants annotated.

    Parameters
    ----------
    conversations : iterable of Conversation
        The ground truth, from `attune_data.load`. If two have one id, the first counts.
    runs : iterable of Run
        The predictions, from `attune_data.load_runs`.
    protocol : str or Protocol
        ``"documented"`` or ``"released"``.
    similarity : str or callable
        The similarity of drafts and responses: ``"jaccard"``, token overlap, is always there; ``"bertscore"`` or
        ``"bertscore:MODEL"`` (extra ``bertscore``), or a function of two lists of texts, adds columns. See
        `attune_bench.benchmarks.attunebench.other_similarity.other_similarity`.
    progress : callable, optional
        Called with the number of runs scored so far.

    Returns
    -------
    ScoreTable
        Per turn, per conversation, and per model and mode. A run is in ``.issues`` and not scored if its conversation
        is missing, if it shares no turn with the conversation, or if another run has the same conversation, model,
        mode and repeat. An undefined metric is null.

    Raises
    ------
    MetricInputError
        Where the name of the protocol or of the measure of similarity is unknown.
    ImportError
        Without bert-score, where it is asked for.

    Examples
    --------
    >>> from attune_data import load
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench.baselines import prior
    >>> conversations = load("demo")
    >>> scores = score(conversations, prior(conversations))
    >>> scores.values.height
    40
    """
    known = {one.id: one for one in reversed(list(conversations))}
    scorer = RunScorer(known, protocol=protocol, similarity=similarity)
    given = list(runs)
    scored: list[tuple[pl.DataFrame, int]] = []
    for start in range(0, len(given), _BATCH):
        part = given[start : start + _BATCH]
        with gc_paused():
            frame = frame_of(scorer.score((run, result_digests(run, RUN)[0].hex()) for run in part))
        scored += [(frame, row) for row in range(len(part))]
        if progress:
            progress(start + len(part))
    return join(scorer, runs if isinstance(runs, Collection) else given, scored, lambda unit: digest(known[unit]).hex())


def row(run: Run) -> tuple[str, str, str]:
    """Return the model, the mode and the conversation of a run: its row in the scores."""
    return run.em_model, run.mode, run.conversation_id


def join(
    scorer: RunScorer,
    runs: Sequence[Run],
    scored: Sequence[tuple[pl.DataFrame, int]],
    digest_of: Callable[[str], str],
) -> ScoreTable:
    """Return the scores of runs from their batches.

    Parameters
    ----------
    scorer : RunScorer
        What scored them.
    runs : sequence of Run
        The runs that count, at least what tells one from another.
    scored : sequence of (polars.DataFrame, int)
        For each run the columns of its batch, see `RunScorer.score`, and its row in them.
    digest_of : callable
        Returns the hash of the conversation of an id, as hexadecimal digits.
    """
    files = runs.files if isinstance(runs, Collection) else {}
    frame = _gathered(scorer, scored)
    seen: set[tuple[str, str, str, int]] = set()
    rows: list[int] = []
    repeats: list[str] = []
    issues: list[Issue] = []
    for row, (run, text) in enumerate(zip(runs, frame["problem"], strict=True)):
        problem = None if text is None else from_json(text)
        if run.key in seen:
            message = "another run of the same conversation, model, mode and repeat came before it"
            problem = ("$", "duplicate-run", message)
        if problem:
            path, rule, message = problem
            value = shown(run.conversation_id)
            issues.append(Issue(files.get(run.id, run.id), path, rule, "error", value, message, "run not scored"))
        else:
            seen.add(run.key)
            rows.append(row)
            repeats.append(str(run.repeat))
    counting = frame[rows]
    truth = {unit: scorer.about(unit) for unit in counting["unit"].unique().sort()}
    settings = {text: RecordedSettings.from_json(text) for text in counting["settings"].unique()}
    # In their order: of settings that are equal, such as 0 and 0.0, the first is recorded.
    made = counting.select("model", "condition", "settings").unique(maintain_order=True).iter_rows()
    held = provenance_of(
        protocol=scorer.protocol.name,
        similarity=scorer.similarity and scorer.similarity.described,
        synthetic=any(one.synthetic for one in truth.values()) or any(one.synthetic for one in settings.values()),
        issues=tuple(issues),
        codebook=codebook_hash(),
        data=hash_of(bytes.fromhex(digest_of(unit)) for unit in truth),
        runs=hash_of(map(bytes.fromhex, frame["digest"])),
        settings=settings_of_groups([(model, mode, settings[text]) for model, mode, text in made]),
    )
    scores = scores_from(
        counting.select(*KEYS, pl.Series(REPEAT, repeats, pl.String), *columns_of([], scorer.others)),
        JsonColumn(counting["detail"]),
        {unit: one.participant for unit, one in truth.items()},
        held,
        {unit: one.chance for unit, one in truth.items()},
        scorer.others,
    )
    return over_repeats(scores)


def _gathered(scorer: RunScorer, scored: Sequence[tuple[pl.DataFrame, int]]) -> pl.DataFrame:
    """Return the rows of the runs that count, in their order."""
    frames = {id(frame): frame for frame, _ in scored}
    first = dict(zip(frames, accumulate((frame.height for frame in frames.values()), initial=0), strict=False))
    empty = frame_of(scorer.score([]))
    gathered = pl.concat([empty, *frames.values()], how="vertical_relaxed")
    return gathered[[first[id(frame)] + row for frame, row in scored]]
