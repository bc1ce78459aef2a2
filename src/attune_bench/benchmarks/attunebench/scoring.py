"""Scoring: runs matched with their conversations, every metric of each, and what was not scored."""

from collections.abc import Callable, Iterable, Sequence

import polars as pl

from attune_bench.benchmarks.attunebench.batch import Batch, RunScorer
from attune_bench.benchmarks.attunebench.run_settings import RunSettings, settings_of_groups
from attune_bench.benchmarks.attunebench.table import frame_of, provenance_of, scores_from
from attune_bench.benchmarks.attunebench.terms import columns_of
from attune_bench.fingerprint import codebook_hash, digest
from attune_bench.scores import Scores
from attune_bench.texts import Texts
from attune_data import Collection, Conversation, Issue, Run
from attune_data.issues import shown
from attune_data.loading import gc_paused
from attune_metrics.attunebench.protocol import DOCUMENTED, Protocol
from attune_metrics.signature import hash_digests

__all__ = ["join", "score"]

_BATCH = 64


def score(
    conversations: Iterable[Conversation],
    runs: Iterable[Run],
    *,
    protocol: str | Protocol = DOCUMENTED,
    progress: Callable[[int], object] | None = None,
) -> Scores:
    """Score the predictions of evaluated models against what the participants annotated.

    Parameters
    ----------
    conversations : iterable of Conversation
        The ground truth; `attune_data.load` gives it. Of one id the first counts.
    runs : iterable of Run
        The predictions; `attune_data.load_runs` gives them.
    protocol : str or Protocol
        ``"documented"`` or ``"released"``.
    progress : callable, optional
        Called with the number of runs scored so far.

    Returns
    -------
    Scores
        Per turn, per conversation, and per model and mode. A run whose conversation is not there, that shares no turn
        with it, or that repeats another's conversation, model and mode, is in ``.issues`` and not scored. A metric
        that is undefined is null.

    Raises
    ------
    MetricInputError
        Where there is no protocol of that name.

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
    scorer = RunScorer({one.id: one for one in reversed(list(conversations))}, protocol=protocol)
    given = list(runs)
    scored: list[tuple[Batch, int]] = []
    for start in range(0, len(given), _BATCH):
        part = given[start : start + _BATCH]
        with gc_paused():
            batch = scorer.score(part, [*map(digest, part)])
        scored += [(batch, place) for place in range(len(part))]
        if progress:
            progress(start + len(part))
    return join(scorer, runs if isinstance(runs, Collection) else given, scored)


def join(scorer: RunScorer, runs: Sequence[Run], scored: Sequence[tuple[Batch, int]]) -> Scores:
    """Return the scores of runs from their batches.

    Parameters
    ----------
    scorer : RunScorer
        What scored them.
    runs : sequence of Run
        The runs that count, at least what tells one from another.
    scored : sequence of (Batch, int)
        For each run its batch and its place in it.
    """
    files = runs.files if isinstance(runs, Collection) else {}
    seen: set[tuple[str, str, str]] = set()
    settings: list[tuple[str, str, RunSettings]] = []
    issues: list[Issue] = []
    rows = _Rows()
    for run, (batch, place) in zip(runs, scored, strict=True):
        of_run = batch.runs[place]
        problem = of_run.problem
        if run.key in seen:
            problem = ("$", "duplicate-run", "another run of the same conversation, model and mode came before it")
        if problem:
            path, rule, message = problem
            value = shown(run.conversation_id)
            issues.append(Issue(files.get(run.id, run.id), path, rule, "error", value, message, "run not scored"))
            continue
        seen.add(run.key)
        settings.append((run.em_model, run.mode, of_run.settings))
        rows.add(batch, place)
    values = rows.values()
    truth = {unit: scorer.about(unit) for unit in values["unit"].unique().sort()}
    held = provenance_of(
        protocol=scorer.protocol.name,
        synthetic=any(one.synthetic for one in truth.values()),
        issues=tuple(issues),
        codebook=codebook_hash(),
        data=hash_digests(one.digest for one in truth.values()),
        runs=hash_digests(batch.runs[place].digest for batch, place in scored),
        settings=settings_of_groups(settings),
    )
    participants = {unit: one.participant for unit, one in truth.items()}
    return scores_from(values, rows.detail(), participants, held, {unit: one.chance for unit, one in truth.items()})


class _Rows:
    """The records of runs, chosen among those of batches."""

    def __init__(self) -> None:
        self._first: dict[int, int] = {}
        self._frames = [frame_of(columns_of([]))]
        self._texts = [pl.Series(dtype=pl.String)]
        self._size = 0
        self._places: list[int] = []

    def add(self, batch: Batch, place: int) -> None:
        """Add the record of a run."""
        if id(batch) not in self._first:
            self._first[id(batch)] = self._size
            self._size += len(batch.records)
            self._frames.append(frame_of(batch.columns))
            self._texts.append(pl.Series(batch.records, dtype=pl.String))
        row = batch.runs[place].row
        assert row is not None  # noqa: S101 - the run has no problem
        self._places.append(self._first[id(batch)] + row)

    def values(self) -> pl.DataFrame:
        """Return the terms, a row a record."""
        return pl.concat(self._frames)[self._places]

    def detail(self) -> Texts:
        """Return the records."""
        return Texts(pl.concat(self._texts).gather(self._places))
