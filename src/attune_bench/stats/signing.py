"""Signing: the line that names every setting behind an analysis of scores, to be quoted with its numbers."""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from typing_extensions import Unpack

from attune_bench._version import __version__
from attune_bench.stats.series import Options, ScoreSeries, Settings
from attune_data import Episode, Scenario
from attune_data.codebook import codebook_folder
from attune_data.record import Record
from attune_metrics.signature import Signature, hash_records

if TYPE_CHECKING:
    from attune_bench.scores import Scores
    from attune_metrics.eibench import Rule, Treatment

__all__ = ["codebook_hash", "fingerprint", "sign", "sign_episodes"]


def fingerprint(records: Iterable[Record]) -> str:
    """Return the hash of conversations or runs, whatever their order and that of the keys in their files.

    Examples
    --------
    >>> from attune_data import load
    >>> conversations = load("demo")
    >>> fingerprint(conversations) == fingerprint(reversed(conversations))
    True
    """
    contents = (record.model_dump(mode="json", by_alias=True, exclude_unset=True) for record in records)
    return hash_records(map(_canonical, contents))


def _canonical(record: object) -> bytes:
    return json.dumps(record, sort_keys=True, separators=(",", ":")).encode()


@cache
def codebook_hash() -> str:
    """Return the hash of the bundled codebook's files, whatever their line ends."""
    files = (file for file in codebook_folder().iterdir() if file.name.endswith(".toml"))
    return hash_records(_canonical([file.name, file.read_text(encoding="utf-8")]) for file in files)


def sign(
    scores: "Scores", *, within: Iterable[str] | None = None, question: str | None = None, **options: Unpack[Options]
) -> str:
    """Return the signature of an analysis of scores.

    Parameters
    ----------
    scores : Scores
        What was analysed; the hashes of data and runs are those in its metadata, where `attune-bench score` left them.
        Without them the scores are hashed.
    within : iterable of str, optional
        Ids of the conversations that the analysis kept to.
    question : str, optional
        What chose them.
    **options
        As for the analysis; see `attune_bench.stats.series.Settings`.

    Returns
    -------
    str
        A line that `attune_metrics.signature.Signature.parse` reads back. ``n`` counts the conversations with
        a value of any of the metrics, ``clusters`` what is drawn, ``excluded`` the conversations without such a value.

    Examples
    --------
    >>> from attune_data import load
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench.baselines import prior
    >>> conversations = load("demo")
    >>> print(sign(score(conversations, prior(conversations)), metrics=["composite_score"]).partition("|")[2])
    ... # doctest: +ELLIPSIS
    metric:composite_score|protocol:documented|mode:default|codebook:...|scores:...|n:40|clusters:24|excluded:0|unit:participant|interval:percentile-expanded|level:0.95|boot:10000|seed:0
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
    codebooks = dict.fromkeys((metadata.get("codebook", codebook_hash()), codebook_hash()))
    hashed = "data" in metadata and "runs" in metadata
    signature = Signature(
        attune="/".join(versions),
        metric=",".join(settings.names),
        protocol=metadata["protocol"],
        mode=",".join(sorted({mode for _, mode in series.groups})),
        codebook="/".join(codebooks),
        data=metadata.get("data"),
        runs=metadata.get("runs"),
        scores=None if hashed else _hash_scores(scores),
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


def sign_episodes(
    episodes: Sequence[Episode],
    scenarios: Sequence[Scenario],
    *,
    rule: "Rule",
    failed: "Treatment",
    resamples: int,
    seed: int,
) -> str:
    """Return the signature of rewards of episodes of EIBench, of one model or of several.

    Parameters
    ----------
    episodes, scenarios, rule, failed, resamples, seed
        As for `attune_bench.benchmarks.eibench.scoring.episode_summary`; of the scenarios those that were played are
        hashed.

    Returns
    -------
    str
        A line that `attune_metrics.signature.Signature.parse` reads back. ``n`` is the number of episodes that count,
        ``clusters`` that of their scenarios, ``excluded`` that of the other episodes.
    """
    from attune_bench.benchmarks.eibench.scoring import score_episodes

    played = {episode.scenario_id for episode in episodes}
    counting = score_episodes(episodes, scenarios, rule=rule, failed=failed).drop_nulls("reward")
    signature = Signature(
        attune=__version__,
        metric="reward",
        protocol=rule,
        mode=f"failed-{failed}",
        data=fingerprint(scenario for scenario in scenarios if scenario.id in played),
        runs=fingerprint(episodes),
        n=counting.height,
        clusters=counting["scenario_id"].n_unique(),
        excluded=len(episodes) - counting.height,
        unit="scenario",
        interval="percentile-expanded",
        level=0.95,
        boot=resamples,
        seed=seed,
    )
    return str(signature)


def _hash_scores(scores: "Scores") -> str:
    # Where a run's file lay has no part in its scores.
    return hash_records(
        _canonical({key: value for key, value in record.items() if key != "source_file"}) for record in scores.records
    )
