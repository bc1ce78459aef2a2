"""Gaps, by hand on small scores."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from scipy.stats import t

from attune_bench import Scores
from attune_bench.benchmarks.attunebench.analyses import perspective_gap, phrasing_gap

Json = dict[str, Any]
Build = Callable[..., Scores]
OM, HP, HP_FACING = "avg_binary_om_accuracy", "avg_binary_human_accuracy", "avg_binary_human_accuracy_hp"


def _accuracies(first: str, second: str, pairs: Sequence[tuple[Any, Any]]) -> dict[str, Json]:
    return {f"c{i}": {first: one, second: other} for i, (one, other) in enumerate(pairs)}


# Perspective gap.


def test_perspective_gap_by_hand(scores_of: Build) -> None:
    # Differences .1, 0, .2, .1, 0: mean .08. Of the 8 exchanges of the three that differ, this one and its opposite are
    # as large: p 2/8. The other model's five differences all count: p 2/32. Holm: .0625 x 2, then .25.
    some = [(0.9, 0.8), (0.8, 0.8), (0.7, 0.5), (0.6, 0.5), (0.5, 0.5)]
    every = [(0.9, 0.8), (0.8, 0.7), (0.7, 0.5), (0.6, 0.5), (0.5, 0.4)]
    rows = perspective_gap(scores_of({"b": _accuracies(OM, HP, every), "a": _accuracies(OM, HP, some)})).to_dicts()
    assert [(row["model"], row["condition"]) for row in rows] == [("a", "default"), ("b", "default")]
    first, second = rows
    assert first["om"] == pytest.approx(0.7, abs=1e-12)
    assert first["hp"] == pytest.approx(0.62, abs=1e-12)
    assert first["gap"] == pytest.approx(0.08, abs=1e-12)
    assert (first["p"], second["p"]) == (0.25, 0.0625)
    assert (first["p_holm"], second["p_holm"]) == (0.25, 0.125)
    assert (first["p_min"], second["p_min"]) == (0.25, 0.0625)
    reason = "no minimum detectable effect with fewer than 7 participants"
    assert (first["n"], first["clusters"], first["mde"], first["reason"]) == (5, 5, None, reason)
    assert 0 <= first["low"] < 0.08 < first["high"] <= 0.2
    assert (first["significant"], second["significant"]) == (False, False)


def test_smallest_detectable_gap_by_hand(scores_of: Build) -> None:
    # Differences .1, 0, .2, .1, 0, .1, .1, .04: mean .08, squares of their distances .0004, .0064, .0144, .0004, .0064,
    # .0004, .0004, .0016: .0304. Standard error sqrt(8/7 .0304) / 8; p-values are multiples of 2 / 256.
    pairs = [(0.9, 0.8), (0.8, 0.8), (0.7, 0.5), (0.6, 0.5), (0.5, 0.5), (0.7, 0.6), (0.3, 0.2), (0.24, 0.2)]
    [row] = perspective_gap(scores_of({"a": _accuracies(OM, HP, pairs)})).to_dicts()
    factor = float(t.ppf(1 - 6 / 256, 7) + t.ppf(0.8, 7))
    assert row["mde"] == pytest.approx((8 / 7 * 0.0304) ** 0.5 / 8 * factor, abs=1e-12)
    assert row["reason"] is None


def test_perspective_gap_exchanges_participants_not_conversations(scores_of: Build) -> None:
    # Six conversations of two participants: 4 exchanges, two of them as large.
    pairs = [(0.9, 0.8)] * 6
    people = {f"c{i}": f"P{i % 2}" for i in range(6)}
    scores = scores_of({"a": _accuracies(OM, HP, pairs)}, people=people)
    row = perspective_gap(scores).row(0, named=True)
    assert (row["p"], row["n"], row["clusters"]) == (0.5, 6, 2)
    assert (row["low"], row["high"], row["reason"]) == (None, None, "fewer than 5 participants")
    assert row["significant"] is False
    # As if by six: 2 of 64.
    by_six = perspective_gap(scores, unit="conversation")
    assert by_six.select("p", "p_holm", "significant", "clusters").rows() == [(2 / 64, 2 / 64, True, 2)]


def test_families_are_modes(scores_of: Build) -> None:
    table = {"a": _accuracies(OM, HP, [(0.9, 0.8)] * 5)}
    scores = scores_of({"x": table["a"], "y": table["a"]}, modes={"x": ("a", "default"), "y": ("a", "verbose")})
    assert perspective_gap(scores)["p_holm"].to_list() == [2 / 32, 2 / 32]


def test_exchanges_are_enough_for_the_family(scores_of: Build) -> None:
    # With 13 participants exchanges are drawn, 40 for each of 3 models.
    table = {model: _accuracies(OM, HP, [(0.9, 0.8)] * 13) for model in "abc"}
    assert perspective_gap(scores_of(table), resamples=50)["p_min"].to_list() == [1 / 121] * 3


# Phrasing gap.


def test_phrasing_gap_is_the_aggregate(scores_of: Build) -> None:
    pairs = [(0.9, 0.6), (0.8, 0.9), (0.7, 0.5), (0.6, 0.5), (0.5, None)]
    scores = scores_of({"a": _accuracies(HP, HP_FACING, pairs)})
    # Where both are there: (.3 - .1 + .2 + .1) / 4; .75 against .625.
    row = phrasing_gap(scores).row(0, named=True)
    assert row["observer"] == pytest.approx(0.75, abs=1e-12)
    assert row["hp_facing"] == pytest.approx(0.625, abs=1e-12)
    assert row["gap"] == pytest.approx(0.125, abs=1e-12)
    assert (row["n"], row["reason"]) == (4, "fewer than 5 participants")


def test_phrasing_that_was_not_asked(scores_of: Build) -> None:
    row = phrasing_gap(scores_of({"a": _accuracies(HP, HP_FACING, [(0.9, None)] * 6)})).row(0, named=True)
    undefined = "observer hp_facing gap low high p p_holm significant mde".split()
    assert [row[name] for name in undefined] == [None] * 9
    assert (row["n"], row["reason"]) == (0, "no conversation has a value")
