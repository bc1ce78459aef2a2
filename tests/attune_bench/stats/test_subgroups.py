"""Subgroups: values of strata, and what sets a stratum apart from the units outside it."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from attune_bench import Scores
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.subgroups import by, overlap, subgroups
from attune_data import Collection, Conversation, Conversations
from attune_metrics.metric import MetricInputError

Build = Callable[..., Scores]
Talk = Callable[..., Conversation]

M = ["composite_score"]


@pytest.fixture(scope="session")
def of_one(build: Build) -> Callable[..., Scores]:
    """Return the function from a model's composites to scores of c0, c1, ... by a participant each."""

    def scores(values: Iterable[float | None], people: Iterable[object] | None = None) -> Scores:
        return build({"model": list(values)}, None if people is None else list(people))

    return scores


@pytest.fixture(scope="session")
def talks(make_conversation: Talk) -> Callable[..., Collection[Conversation]]:
    """Return the function from lists of diagnoses to conversations c0, c1, ... with them."""
    return lambda diagnoses: Conversations(
        [
            make_conversation(
                conversationId=f"c{i}",
                participant_profile={"participant_id": f"P{i}", "demographics": {"diagnoses": given}},
            )
            for i, given in enumerate(diagnoses)
        ]
    )


def _ids(*numbers: int) -> list[str]:
    return [f"c{i}" for i in numbers]


def test_strata_by_hand(of_one: Build, talks: Callable[..., Collection[Conversation]]) -> None:
    data = talks([["ADHD"], ["ADHD", "Autism"], ["Autism"], ["None of the above"], [], ["ADHD"]])
    frame = of_one([1, 2, 4, 8, 16, None]).by("diagnosis_group", data=data, metrics=M, compare=True)
    assert (
        frame.columns
        == (
            "stratum n clusters metric model condition value low high mark reason "
            "difference difference_low difference_high p p_holm significant"
        ).split()
    )
    # ADHD holds 1 and 2, ASD 2 and 4; conversation 4 has no answer, so that it is in no complement.
    expected = {
        "ADHD": (1.5, 1.5 - (4 + 8) / 2, 2),
        "ASD": (3.0, 3.0 - (1 + 8) / 2, 2),
        "none": (8.0, 8.0 - (1 + 2 + 4) / 3, 1),
        "unknown": (16.0, 16.0 - (1 + 2 + 4 + 8) / 4, 1),
    }
    for name, value, difference, n in frame.select("stratum", "value", "difference", "n").rows():
        assert (value, difference, n) == pytest.approx(expected.pop(name), abs=1e-12)
    assert expected == {}
    assert set(frame["mark"]) == {"too few"}
    assert set(frame["reason"]) == {"fewer than 5 participants"}
    assert frame.select("low", "high", "difference_low", "p", "p_holm", "significant").null_count().row(0) == (4,) * 6


def test_without_comparison_there_are_no_differences(
    of_one: Build, talks: Callable[..., Collection[Conversation]]
) -> None:
    data = talks([["ADHD"], ["None of the above"]])
    frame = by(of_one([1, 2]), "diagnosis", data=data.tables, metrics=M)
    assert frame.columns[-2:] == ["mark", "reason"]
    assert frame["stratum"].to_list() == ["ADHD", "none"]


@pytest.mark.parametrize(("size", "mark"), [(4, "too few"), (5, "few"), (19, "few"), (20, "")])
def test_marks_count_participants_not_conversations(of_one: Build, size: int, mark: str) -> None:
    people = [i % size for i in range(40)]
    scores = of_one(range(40), people)
    row = subgroups(scores, {"all": _ids(*range(40))}, known=(), metrics=M, resamples=99).row(0, named=True)
    assert (row["n"], row["clusters"], row["mark"]) == (40, size, mark)
    assert (row["low"] is None) == (size < 5)


def test_difference_agrees_with_welch(of_one: Build) -> None:
    rng = np.random.default_rng(2)
    one, other = rng.normal(50, 10, size=80), rng.normal(46, 10, size=80)
    scores = of_one([*one, *other])
    row = subgroups(scores, {"s": _ids(*range(80))}, known=_ids(*range(160)), compare=True, metrics=M).row(
        0, named=True
    )
    theirs = stats.ttest_ind(one, other, equal_var=False)
    interval = theirs.confidence_interval()
    # Monte Carlo error, and the difference between the bootstrap's and Welch's degrees of freedom: well below 0.3
    # standard errors of about 1.6.
    assert row["difference_low"] == pytest.approx(interval.low, abs=0.4)
    assert row["difference_high"] == pytest.approx(interval.high, abs=0.4)
    assert row["p"] == pytest.approx(theirs.pvalue, abs=0.01)
    assert (row["p"] < 0.05) == (row["difference_low"] > 0)


def test_participants_in_stratum_and_complement_are_drawn_jointly(of_one: Build) -> None:
    # 30 people who differ much, each with one conversation on either side: what they have in common cancels, as in a
    # paired test.
    rng = np.random.default_rng(3)
    level = rng.normal(50, 20, size=30)
    one, other = level + rng.normal(1, 1, size=30), level + rng.normal(0, 1, size=30)
    scores = of_one([*one, *other], [*range(30), *range(30)])
    strata = {"s": _ids(*range(30))}
    row = subgroups(scores, strata, known=_ids(*range(60)), compare=True, metrics=M).row(0, named=True)
    interval = stats.ttest_rel(one, other).confidence_interval()
    assert row["difference_low"] == pytest.approx(interval.low, abs=0.15)
    assert row["difference_high"] == pytest.approx(interval.high, abs=0.15)
    alone = subgroups(scores, strata, known=_ids(*range(60)), compare=True, metrics=M, unit="conversation")
    assert alone["difference_high"].item() - alone["difference_low"].item() > 10 * (interval.high - interval.low)


def test_the_p_value_belongs_to_the_interval(of_one: Build) -> None:
    rng = np.random.default_rng(4)
    scores = of_one(rng.normal(0.4, 1, size=12).tolist() + rng.normal(size=30).tolist())
    strata, known = {"s": _ids(*range(12))}, _ids(*range(42))
    p = subgroups(scores, strata, known=known, compare=True, metrics=M)["p"].item()
    assert 0.01 < p < 0.99
    for level, inside in ((1 - p - 0.01, False), (1 - p + 0.01, True)):
        row = subgroups(scores, strata, known=known, compare=True, metrics=M, level=level).row(0, named=True)
        assert (row["difference_low"] <= 0 <= row["difference_high"]) == inside


def test_holm_over_the_strata_of_each_model(of_one: Build) -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(size=60) + np.repeat([0, 0.5, 1.0], 20)
    scores = of_one(values.tolist())
    strata = {name: _ids(*range(20 * i, 20 * i + 20)) for i, name in enumerate("abc")}
    frame = subgroups(scores, strata, known=_ids(*range(60)), compare=True, metrics=M)
    p = sorted(frame["p"].to_list())
    steps = [min(1, 3 * p[0]), min(1, max(3 * p[0], 2 * p[1])), min(1, max(3 * p[0], 2 * p[1], p[2]))]
    assert sorted(frame["p_holm"].to_list()) == pytest.approx(steps, abs=1e-12)
    assert frame["significant"].to_list() == [p < 0.05 for p in frame["p_holm"]]


def test_the_number_of_resamples_does_not_limit_p(of_one: Build) -> None:
    # No resample has the other sign.
    rng = np.random.default_rng(7)
    values = np.repeat([0, 50], [6, 28]) + rng.normal(size=34)
    options: Any = {"known": _ids(*range(34)), "compare": True, "metrics": M}
    scores, strata = of_one(values.tolist()), {"s": _ids(*range(6))}
    found = [subgroups(scores, strata, resamples=resamples, **options)["p"].item() for resamples in (199, 9_999)]
    spread = np.sqrt(values[:6].var() / 6 + values[6:].var() / 28)
    t = (values[6:].mean() - values[:6].mean()) / spread / np.sqrt(6 / 5)
    assert found == pytest.approx([2 * stats.t.sf(t, 5)] * 2, rel=0.4)
    assert max(found) < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "few", "people"), [
    ("normal", 6, 24), ("skewed", 6, 24), ("yes or no", 6, 24),
    ("seldom yes", 12, 52),  # all of the smaller side often have the same value
])  # fmt: skip
def test_small_p_values_of_few_people_are_as_rare_as_they_say(kind: str, few: int, people: int) -> None:
    rng, size = np.random.default_rng(8), (people, 2000)
    drawn = {
        "normal": rng.normal(size=size), "skewed": rng.exponential(size=size), "yes or no": rng.integers(0, 2, size),
        "seldom yes": rng.random(size) < 0.3,
    }[kind]  # fmt: skip
    known = _ids(*range(people))
    frame = pl.DataFrame({"model": "m", "unit": known}).with_columns(
        pl.Series(f"m{place}", column.astype(float)) for place, column in enumerate(drawn.T)
    )
    scores = Scores.from_table(frame)
    found = subgroups(scores, {"s": known[:few]}, known=known, compare=True, resamples=1000)
    p = found["p"].drop_nulls().to_numpy()
    for level in (0.05, 0.005, 0.05 / 30):
        error = np.sqrt(level / len(p))
        assert (p < level).mean() < 1.3 * level + 2 * error


def test_odd_strata_give_a_reason(of_one: Build) -> None:
    known = _ids(*range(12))
    strata = {"empty": [], "elsewhere": ["x"], "all": known, "half": known[:6]}
    frame = subgroups(of_one([5] * 12), strata, known=known, compare=True, metrics=M)
    assert dict(frame.select("stratum", "reason").iter_rows()) == {
        "empty": "no conversation has a value",
        "elsewhere": "no conversation has a value",
        "all": "all participants have the same value",
        "half": "all participants have the same value",
    }
    assert frame["difference"].to_list() == [None, None, None, 0.0]
    rising = subgroups(of_one(range(12)), strata, known=known, compare=True, metrics=M)
    assert rising.filter(stratum="all")["reason"].item() == "no difference: no conversation on one side"
    assert rising.filter(stratum="all")["low"].item() > 0
    nulls = subgroups(of_one([None] * 12), strata, known=known, compare=True, metrics=M)
    assert set(nulls["reason"]) == {"no conversation has a value"}


def test_people_of_one_value_have_no_p_value(of_one: Build) -> None:
    values = [0] * 6 + [place % 2 for place in range(20)]
    scores, known, strata = of_one(values), _ids(*range(26)), {"s": _ids(*range(6))}
    [row] = subgroups(scores, strata, known=known, compare=True, metrics=M).to_dicts()
    assert row["difference"] == -0.5
    assert (row["difference_low"], row["p"], row["significant"]) == (None, None, None)
    assert row["reason"] == "all participants have the same value"
    [other] = subgroups(of_one([0] * 5 + [1, *values[6:]]), strata, known=known, compare=True, metrics=M).to_dicts()
    assert other["p"] < 0.5


def test_data_of_another_set(of_one: Build, talks: Callable[..., Collection[Conversation]]) -> None:
    with pytest.raises(MetricInputError, match="none of the 2 conversations scored is in the data"):
        subgroups(of_one([1, 2]), {"s": ["x"]}, known=["x", "y"])
    with pytest.raises(ValueError, match="no trait 'diagnosys'; did you mean 'diagnosis'"):
        of_one([1]).by("diagnosys", data=talks([[]]))
    with pytest.raises(ValueError, match="no traits of their conversations; give what was scored against: data="):
        of_one([1]).by("diagnosis")


def test_order_never_shows(
    of_one: Build,
    talks: Callable[..., Collection[Conversation]],
    reordered: Callable[[ScoreTable, Iterable[int]], Scores],
) -> None:
    rng = np.random.default_rng(6)
    data = talks([["ADHD"] if i % 3 else ["None of the above"] for i in range(30)])
    scores = of_one(rng.normal(size=30).tolist())
    other = reordered(scores, rng.permutation(30))
    options: Any = {"metrics": M, "compare": True, "resamples": 500}
    found = scores.by("diagnosis", data=data, **options)
    assert found.equals(other.by("diagnosis", data=Conversations(list(data)[::-1]), **options))
    assert found.filter(pl.col("p").is_null()).height == 0


def test_overlap_counts_conversations_once() -> None:
    assert overlap({"a": ["1", "2", "3"], "b": ["2", "3"], "c": ["3", "3"]}) == 2
