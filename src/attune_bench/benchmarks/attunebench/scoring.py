"""Scoring runs: a record a run, a row a record, a column a term; the settings that runs share."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

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
from attune_bench.scores.codebook import codebook_hash
from attune_bench.scores.parts import CHANCE, KEYS, REPEAT, Provenance, ScoredRow, ScoreLists
from attune_bench.scores.provenance import digest, hash_of, result_digests
from attune_data import Collection, Conversation, Issue, Run
from attune_data.issues import shown
from attune_data.kinds import RUN
from attune_data.query import spelled_alike, text_key
from attune_data.record import gc_paused
from attune_metrics.attunebench import composite, emotion, holistic, panas, preferences, questions
from attune_metrics.attunebench.composite import DOCUMENTED, Protocol
from attune_metrics.metric import Metric, MetricInputError

if TYPE_CHECKING:
    from attune_bench.scores.table import ScoreTable

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
) -> "ScoreTable":
    """Return the scores of runs from their records, and from the scores of random answers to each conversation.

    Raises
    ------
    MetricInputError
        Where two records have the same conversation, model and mode, or one conversation has two participants.
    """
    # Found here and below, as scores of a file in JSON do without frames.
    from attune_bench.scores.table import table_of

    keys = [(record["em_model"], record["mode"], record["conversationId"]) for record in records]
    for model, mode, unit in (key for key, count in Counter(keys).items() if count > 1):
        where = f"conversation {unit!r}, model {model!r}, mode {mode!r}"
        raise MetricInputError(f"two records of {where}; leave one of them out")
    others = tuple(dict.fromkeys(name for record in records for name in record if is_of_similarity(name)))
    named = {name: [key[place] for key in keys] for place, name in enumerate(KEYS)}
    values = named | {REPEAT: ["1"] * len(keys)} | columns_of(records, others)
    texts = [to_json(record, inf_nan_mode="constants").decode() for record in records]
    return table_of(_scores_from(values, texts, _participants(records), provenance, chance or {}, others))


def _scores_from(
    values: Mapping[str, Sequence[Any]],
    detail: Sequence[str | bytes],
    participants: Mapping[str, str | None],
    provenance: Provenance,
    chance: Mapping[str, Mapping[str, float | None]],
    others: Sequence[str],
) -> ScoreLists:
    """Return scores from their parts.

    Parameters
    ----------
    values, detail, provenance
        As in `ScoreLists`.
    participants : mapping of str to (str or None)
        The participant of each conversation that is in `values`, by its id.
    chance : mapping of str to mapping
        The scores of random answers, by conversation and metric.
    others : sequence of str
        The columns of another measure of similarity.
    """
    names = sorted(participants)
    known = [chance.get(unit, {}) for unit in names]
    units: dict[str, Sequence[Any]] = {
        "unit": names,
        "cluster": spelled_alike(participants[unit] for unit in names),
        # A metric that is unknown for some conversation has no column.
        **{
            f"{CHANCE}{name}": [of_unit[name] for of_unit in known]
            for name in EXPECTED
            if all(name in of_unit for of_unit in known)
        },
    }
    metrics = {**METRICS, **similarity_metrics(others)}
    return ScoreLists(values=values, units=units, metrics=metrics, provenance=provenance, detail=detail)


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
) -> "ScoreTable":
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
    from attune_bench.scores.table import table_of

    known = {one.id: one for one in reversed(list(conversations))}
    scorer = RunScorer(known, protocol=protocol, similarity=similarity)
    given = list(runs)
    scored: list[ScoredRow] = []
    for start in range(0, len(given), _BATCH):
        part = given[start : start + _BATCH]
        with gc_paused():
            columns = scorer.score((run, result_digests(run, RUN)[0].hex()) for run in part)
        scored += [(columns, row) for row in range(len(part))]
        if progress:
            progress(start + len(part))
    found = runs if isinstance(runs, Collection) else given
    return table_of(join(scorer, found, scored, lambda unit: digest(known[unit]).hex()))


def row(run: Run) -> tuple[str, str, str]:
    """Return the model, the mode and the conversation of a run: its row in the scores."""
    return run.em_model, run.mode, run.conversation_id


def join(
    scorer: RunScorer, runs: Sequence[Run], scored: Sequence[ScoredRow], digest_of: Callable[[str], str]
) -> ScoreLists:
    """Return the scores of runs from their batches.

    Parameters
    ----------
    scorer : RunScorer
        What scored them.
    runs : sequence of Run
        The runs that count, at least what tells one from another.
    scored : sequence of ScoredRow
        Where each run is scored.
    digest_of : callable
        Returns the hash of the conversation of an id, as hexadecimal digits.
    """
    files = runs.files if isinstance(runs, Collection) else {}
    seen: set[tuple[str, str, str, int]] = set()
    counting: list[ScoredRow] = []
    repeats: list[str] = []
    issues: list[Issue] = []
    for run, (columns, row) in zip(runs, scored, strict=True):
        text = columns["problem"][row]
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
            counting.append((columns, row))
            repeats.append(str(run.repeat))
    names = (*KEYS, REPEAT, *columns_of([], scorer.others))
    values = {name: repeats if name == REPEAT else _column(name, counting) for name in names}
    of_runs = _column("settings", counting)
    truth = {unit: scorer.about(unit) for unit in sorted(set(values["unit"]))}
    settings = {text: RecordedSettings.from_json(text) for text in set(of_runs)}
    # In their order: of settings that are equal, such as 0 and 0.0, the first is recorded.
    made = dict.fromkeys(zip(values["model"], values["condition"], of_runs, strict=True))
    held = provenance_of(
        protocol=scorer.protocol.name,
        similarity=scorer.similarity and scorer.similarity.described,
        synthetic=any(one.synthetic for one in truth.values()) or any(one.synthetic for one in settings.values()),
        issues=tuple(issues),
        codebook=codebook_hash(),
        data=hash_of(bytes.fromhex(digest_of(unit)) for unit in truth),
        runs=hash_of(map(bytes.fromhex, _column("digest", scored))),
        settings=settings_of_groups([(model, mode, settings[text]) for model, mode, text in made]),
    )
    return _scores_from(
        values,
        _column("detail", counting),
        {unit: one.participant for unit, one in truth.items()},
        held,
        {unit: one.chance for unit, one in truth.items()},
        scorer.others,
    )


def _column(name: str, rows: Iterable[ScoredRow]) -> list[Any]:
    return [columns[name][row] for columns, row in rows]
