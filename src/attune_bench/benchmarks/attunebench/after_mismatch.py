"""After a mismatch: what follows where the original model did what was not wanted, or left out what was wanted.

The person met the original model, so that its behaviour can matter for what follows. Who talks to a model that errs may
also feel worse for other reasons: everything here is an association.
"""

from collections.abc import Iterable, Sequence
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.benchmarks.attunebench.conversation_score import panas_form
from attune_bench.scores.columns import FrameColumn, build_frame, columns, text, whole
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.options import SamplingKeywords, begin, interval_ends
from attune_data import Conversation
from attune_data.attunebench.records import Turn
from attune_metrics.attunebench.emotion import NEGATIVE_AFFECT, POSITIVE_AFFECT
from attune_metrics.attunebench.panas import prepare_panas
from attune_metrics.metric import nan_to_none
from attune_metrics.stats.association import lagged_association, outcome_association
from attune_metrics.stats.bootstrap import NO_VARIATION
from attune_metrics.stats.serial import Following

BEHAVIOURS = {"unwanted": "an unwanted", "missing": "a missing"}
_AFFECTS = {"negative": NEGATIVE_AFFECT, "positive": POSITIVE_AFFECT}
WANTED, AFFECT = "behaviours wanted", "affect"

AFTER_MISMATCH = columns(
    "behaviour outcome after otherwise difference low high uncontrolled pairs n clusters reason",
    behaviour=text(
        "What the person noted of a turn: `unwanted`, a behaviour that was observed and not preferred, or `missing`, "
        "one that was preferred and not observed."
    ),
    outcome=text(
        "Of the next turn: the share of turns with a tag of negative or positive emotion, and of behaviours that were "
        "wanted. Of the conversation: total of negative or positive affect (PANAS, 10 to 70), after minus before."
    ),
    after=FrameColumn(
        "The outcome after turns with such a behaviour, in a conversation of average level; of the conversation, the "
        "mean where more turns than the median have one.",
        shown="plain",
    ),
    otherwise=FrameColumn("The outcome after turns, or in conversations, without.", shown="plain"),
    difference=FrameColumn("After minus otherwise: an association.", shown="plain", signed=True),
    uncontrolled=FrameColumn("The difference over all conversations together.", shown="files"),
    pairs=whole("Pairs of neighbouring turns, or conversations."),
    n="How many conversations these are from.",
)  # fmt: skip


class _Noted(NamedTuple):
    """What the person noted of a turn: 1 and 0 for the behaviours, then the outcomes."""

    conversation: int
    number: int
    behaviours: tuple[float, ...]
    outcomes: tuple[float, ...]


def after_mismatch(
    scores: ScoreTable, *, data: Iterable[Conversation], **options: Unpack[SamplingKeywords]
) -> pl.DataFrame:
    """Return what goes with an unwanted or a missing behaviour of the original model, in what follows.

    Turns are compared within their conversation, see `attune_metrics.stats.association.lagged_association`, and
    conversations over people, see `attune_metrics.stats.association.outcome_association`. Turns of which no question
    has both an observed and a preferred answer of yes or no are left out.

    Parameters
    ----------
    scores : ScoreTable
        The scores; their conversations count.
    data : iterable of Conversation
        The conversations that were scored.
    **options
        ``level`` and ``unit``; see `attune_bench.stats.options.AnalysisOptions`. Nothing is drawn at random.

    Returns
    -------
    polars.DataFrame
        The columns `AFTER_MISMATCH`, with a Student's t interval over participants.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> data = load("demo")
    >>> found = after_mismatch(score(data, load_runs("demo")), data=data)
    >>> found.select("behaviour", "outcome", "n").row(0)
    ('unwanted', 'negative emotion', 40)
    """
    chosen, series, _ = begin(scores, options)
    label_of = dict(zip(series.units, series.clusters(chosen), strict=True))
    held = sorted((one for one in data if one.id in label_of), key=lambda one: one.id)
    clusters = [label_of[one.id] for one in held]
    every = (_noted(place, turn) for place, one in enumerate(held) for turn in one.turns)
    noted = [one for one in every if one is not None]
    names = [*(f"{affect} emotion" for affect in _AFFECTS), WANTED]
    rows: list[tuple[Any, ...]] = []
    for which, behaviour in enumerate(BEHAVIOURS):
        shares = _shares(noted, which, len(held))
        for outcome, name in enumerate(names):
            found = lagged_association(
                [one.behaviours[which] for one in noted], [one.outcomes[outcome] for one in noted],
                [one.conversation for one in noted], [one.number for one in noted],
                [clusters[one.conversation] for one in noted], level=chosen.level,
            )  # fmt: skip
            rows.append(_row(scores, behaviour, name, found, [clusters[place] for place, _ in shares]))
        for affect in _AFFECTS:
            changes = [(share, change, clusters[place]) for place, share in shares
                       if (change := _change(held[place], affect)) is not None]  # fmt: skip
            rows.append(_row(scores, behaviour, f"{affect} {AFFECT}", *_of_conversations(changes, chosen.level)))
    return build_frame(AFTER_MISMATCH, rows if held else [])


def _noted(conversation: int, turn: Turn) -> _Noted | None:
    """Return what the person noted of a turn; None where no question has both answers."""
    answers = [(one.observed_behavior, one.preferred_behavior) for one in turn.annotations.binary_judgements]
    known = [pair for pair in answers if {*pair} <= {"yes", "no"}]
    if not known:
        return None
    tags = {tag.emotion.title() for tag in turn.mood_shift_tags}
    felt = [float(not tags.isdisjoint(words)) for words in _AFFECTS.values()]
    wanted = sum(preferred == "yes" for _, preferred in known) / len(known)
    behaviours = float(("yes", "no") in known), float(("no", "yes") in known)
    return _Noted(conversation, turn.turn_number, behaviours, (*felt, wanted))


def _shares(noted: Sequence[_Noted], which: int, conversations: int) -> list[tuple[int, float]]:
    """Return the share of turns with a behaviour of each conversation that has noted turns."""
    of = np.array([one.conversation for one in noted], dtype=np.intp)
    counts = np.bincount(of, minlength=conversations)
    with_it = np.bincount(of, weights=[one.behaviours[which] for one in noted], minlength=conversations)
    return [(place, with_it[place] / n) for place, n in enumerate(counts.tolist()) if n]


def _change(conversation: Conversation, affect: str) -> float | None:
    """Return a PANAS total after the conversation minus before it."""
    before, after = (
        getattr(prepare_panas(panas_form(panas)).totals, affect)
        for panas in (conversation.pre_panas, conversation.post_panas)
    )
    return None if before is None or after is None else after - before


def _of_conversations(changes: Sequence[tuple[float, float, Any]], level: float) -> tuple[Following, list[Any]]:
    """Return the change of affect in conversations where more turns than the median have the behaviour, and others."""
    shares, outcomes, clusters = zip(*changes, strict=True) if changes else ((), (), ())
    often = np.array(shares) > np.median(shares) if changes else np.zeros(0)
    found = outcome_association(often.astype(float), outcomes, clusters, level=level)
    values = np.array(outcomes, dtype=float)
    after, otherwise = (float(values[mask].mean()) if mask.any() else nan for mask in (often > 0, often == 0))
    return Following(found, found.estimate, nan, after, otherwise, len(changes)), list(clusters)


def _row(
    scores: ScoreTable, behaviour: str, outcome: str, found: Following, clusters: Sequence[Any]
) -> tuple[Any, ...]:
    people = len(set(clusters))
    low, high, reason = interval_ends(found.effect, people, scores)
    if found.effect.reason == NO_VARIATION and isnan(found.effect.estimate):
        where = "in more turns than the median" if outcome.endswith(AFFECT) else "in some turns and not in others"
        reason = f"no conversation has {BEHAVIOURS[behaviour]} behaviour {where}"
    values = map(nan_to_none, (found.after, found.otherwise, found.effect.estimate))
    return (
        behaviour, outcome, *values, low, high, nan_to_none(found.uncontrolled), found.pairs, len(clusters), people,
        reason,
    )  # fmt: skip
