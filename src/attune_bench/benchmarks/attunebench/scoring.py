"""Scoring: runs matched with their conversations, every metric of each, and what was not scored."""

from collections.abc import Callable, Iterable
from functools import cache

from attune_bench.benchmarks.attunebench.conversation_score import ConversationScore, score_conversation
from attune_bench.benchmarks.attunebench.expected import expected_scores
from attune_bench.benchmarks.attunebench.reference import prepare_truth
from attune_bench.benchmarks.attunebench.run_settings import settings_of_runs
from attune_bench.benchmarks.attunebench.table import provenance_of, scores_of
from attune_bench.fingerprint import codebook_hash, fingerprint
from attune_bench.scores import Scores
from attune_data import Collection, Conversation, Issue, Run
from attune_data.issues import shown
from attune_metrics.attunebench.protocol import DOCUMENTED, Protocol, get_protocol

__all__ = ["score"]


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
    chosen = get_protocol(protocol)
    files = runs.files if isinstance(runs, Collection) else {}
    by_id: dict[str, Conversation] = {}
    for conversation in conversations:
        by_id.setdefault(conversation.id, conversation)
    truth_of = cache(lambda conversation_id: prepare_truth(by_id[conversation_id], chosen))
    scored: dict[tuple[str, str, str], Run] = {}
    records: list[ConversationScore] = []
    issues: list[Issue] = []
    given = list(runs)
    for count, run in enumerate(given, start=1):
        problem = None
        if run.conversation_id not in by_id:
            problem = (
                "$.conversationId",
                "run-without-conversation",
                "no conversation with this id; is the data right?",
            )
        elif run.key in scored:
            problem = ("$", "duplicate-run", "another run of the same conversation, model and mode came before it")
        elif (record := score_conversation(truth_of(run.conversation_id), run, chosen)) is None:
            problem = ("$.turns", "no-shared-turn", "the run shares no turn number with its conversation")
        else:
            scored[run.key] = run
            records.append(record)
        if problem:
            path, rule, message = problem
            value = shown(run.conversation_id)
            issues.append(Issue(files.get(run.id, run.id), path, rule, "error", value, message, "run not scored"))
        if progress:
            progress(count)
    used = {record["conversationId"] for record in records}
    held = provenance_of(
        protocol=chosen.name,
        synthetic=any(by_id[name].synthetic for name in used),
        issues=tuple(issues),
        codebook=codebook_hash(),
        data=fingerprint(conversation for conversation in by_id.values() if conversation.id in used),
        runs=fingerprint(given),
        settings=settings_of_runs(scored.values()),
    )
    return scores_of(records, held, {unit: expected_scores(truth_of(unit), chosen) for unit in used})
