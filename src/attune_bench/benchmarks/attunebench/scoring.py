"""Scoring: runs matched with their conversations, every metric of each, and what was not scored."""

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

import polars as pl
from pydantic_core import from_json

from attune_bench.benchmarks.attunebench.batch import RunScorer
from attune_bench.benchmarks.attunebench.run_settings import RunSettings, settings_of_groups
from attune_bench.benchmarks.attunebench.similarity import Similarity
from attune_bench.benchmarks.attunebench.table import provenance_of, scores_from
from attune_bench.benchmarks.attunebench.terms import columns_of
from attune_bench.fingerprint import codebook_hash, result_digests
from attune_bench.repeated import over_repeats
from attune_bench.score_table import KEYS, REPEAT
from attune_bench.scores import Scores
from attune_bench.streaming import frame_of
from attune_bench.texts import Texts
from attune_data import Collection, Conversation, Issue, Run
from attune_data.issues import shown
from attune_data.kinds import RUN
from attune_data.loading import gc_paused
from attune_metrics.attunebench.composite import DOCUMENTED, Protocol
from attune_metrics.signature import hash_digests

__all__ = ["join", "row", "score"]

_BATCH = 64


def score(
    conversations: Iterable[Conversation],
    runs: Iterable[Run],
    *,
    protocol: str | Protocol = DOCUMENTED,
    similarity: str | Similarity = "jaccard",
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
    similarity : str or callable
        What measures how similar drafts and responses are: ``"jaccard"``, token overlap; beside it, in columns of its
        own, ``"bertscore"`` or ``"bertscore:MODEL"`` (extra ``bertscore``), or a function of two lists of texts. See
        `attune_bench.benchmarks.attunebench.similarity.other_similarity`.
    progress : callable, optional
        Called with the number of runs scored so far.

    Returns
    -------
    Scores
        Per turn, per conversation, and per model and mode. A run whose conversation is not there, that shares no turn
        with it, or that has another's conversation, model, mode and repeat, is in ``.issues`` and not scored. A metric
        that is undefined is null.

    Raises
    ------
    MetricInputError
        Where there is no protocol of that name, or no such measure of similarity.
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
            frame = frame_of(scorer.score(part, [result_digests(run, RUN)[0].hex() for run in part]))
        scored += [(frame, row) for row in range(len(part))]
        if progress:
            progress(start + len(part))
    return join(scorer, runs if isinstance(runs, Collection) else given, scored)


def row(run: Run) -> tuple[str, str, str]:
    """Return the model, the mode and the conversation of a run: its row in the scores."""
    return run.em_model, run.mode, run.conversation_id


def join(scorer: RunScorer, runs: Sequence[Run], scored: Sequence[tuple[pl.DataFrame, int]]) -> Scores:
    """Return the scores of runs from their batches.

    Parameters
    ----------
    scorer : RunScorer
        What scored them.
    runs : sequence of Run
        The runs that count, at least what tells one from another.
    scored : sequence of (polars.DataFrame, int)
        For each run the columns of its batch, see `RunScorer.score`, and its row in them.
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
            problem = (
                "$",
                "duplicate-run",
                "another run of the same conversation, model, mode and repeat came before it",
            )
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
    settings = {text: RunSettings.from_json(text) for text in counting["settings"].unique()}
    # In their order: of settings that are equal, such as 0 and 0.0, the first is recorded.
    made = counting.select("model", "condition", "settings").unique(maintain_order=True).iter_rows()
    held = provenance_of(
        protocol=scorer.protocol.name,
        similarity=scorer.similarity and scorer.similarity.described,
        synthetic=any(one.synthetic for one in truth.values()) or any(one.synthetic for one in settings.values()),
        issues=tuple(issues),
        codebook=codebook_hash(),
        data=hash_digests(bytes.fromhex(one.digest) for one in truth.values()),
        runs=hash_digests(map(bytes.fromhex, frame["digest"])),
        settings=settings_of_groups([(model, mode, settings[text]) for model, mode, text in made]),
    )
    scores = scores_from(
        counting.select(*KEYS, pl.Series(REPEAT, repeats, pl.String), *columns_of([], scorer.others)),
        Texts(counting["detail"]),
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
    empty = frame_of(scorer.score([], []))
    gathered = pl.concat([empty, *frames.values()], how="vertical_relaxed")
    return gathered[[first[id(frame)] + row for frame, row in scored]]
