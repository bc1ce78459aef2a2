"""Signing: the line that names every setting behind an analysis of scores, to be quoted with its numbers."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

import numpy as np
from typing_extensions import Unpack

from attune_bench._version import __version__
from attune_bench.series import Options, ScoreSeries, Settings
from attune_metrics import Signature, hash_records

if TYPE_CHECKING:
    from attune_bench.scores import Scores

__all__ = ["fingerprint", "sign"]


class _Record(Protocol):
    def to_json(self) -> bytes: ...


def fingerprint(records: Iterable[_Record]) -> str:
    """Return the hash of conversations or runs, whatever their order and that of the keys in their files.

    Examples
    --------
    >>> from attune_data import load
    >>> conversations = load("demo")
    >>> fingerprint(conversations) == fingerprint(reversed(conversations))
    True
    """
    return hash_records(
        json.dumps(json.loads(record.to_json()), sort_keys=True, separators=(",", ":")).encode() for record in records
    )


def sign(
    scores: "Scores", *, within: Iterable[str] | None = None, question: str | None = None, **options: Unpack[Options]
) -> str:
    """Return the signature of an analysis of scores.

    Parameters
    ----------
    scores : Scores
        What was analysed; the hashes of data and runs are those in its metadata, where `attune-bench score` left them.
    within : iterable of str, optional
        Ids of the conversations that the analysis kept to.
    question : str, optional
        What chose them.
    **options
        As for the analysis; see `attune_bench.series.Settings`.

    Returns
    -------
    str
        A line that `attune_metrics.Signature.parse` reads back. ``n`` counts the conversations with a value of any of
        the metrics, ``clusters`` what is drawn, ``excluded`` the conversations without such a value.

    Examples
    --------
    >>> from attune_data import load
    >>> from attune_bench import score
    >>> from attune_bench.baselines import prior
    >>> conversations = load("demo")
    >>> print(sign(score(conversations, prior(conversations)), metrics=["composite_score"]).partition("|")[2])
    ... # doctest: +NORMALIZE_WHITESPACE
    metric:composite_score|protocol:documented|mode:default|n:40|clusters:24|excluded:0|unit:participant|interval:percentile-expanded|level:0.95|boot:10000|seed:0
    """
    settings = Settings(**options)
    series = ScoreSeries(scores)
    kept = np.ones(len(series.units), dtype=np.bool_)
    if within is not None:
        wanted = set(within)
        kept = np.array([unit in wanted for unit in series.units], dtype=np.bool_)
    there = np.zeros_like(kept)
    for metric in settings.names:
        there |= (~np.isnan(series.values(metric)[:, 0])).any(axis=0)
    clusters = series.clusters(settings.unit)
    metadata = scores.metadata
    versions = dict.fromkeys((metadata.get("library_version", __version__), __version__))
    signature = Signature(
        attune="/".join(versions),
        metric=",".join(settings.names),
        protocol=metadata["protocol"],
        mode=",".join(sorted({mode for _, mode in series.groups})),
        data=metadata.get("data"),
        runs=metadata.get("runs"),
        filter=question,
        n=int((there & kept).sum()),
        clusters=len({clusters[unit] for unit in np.flatnonzero(there & kept).tolist()}),
        excluded=int((kept & ~there).sum()),
        unit=settings.unit,
        interval=settings.interval,
        level=float(settings.level),
        boot=settings.resamples,
        seed=settings.seed,
    )
    return str(signature)
