"""Comparisons as text: the matrix of signs above five models, and the sentence to quote of two models."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from attune_bench import Scores
from attune_bench.report.comparisons import comparison_note, comparison_tables, matrices, quotes
from attune_bench.report.document import Document, json_content, render
from attune_bench.stats.options import AnalysisOptions

OPTIONS: dict[str, Any] = {"resamples": 2000}


def scores_of(values: Mapping[str, Sequence[float | None]], **metric: Any) -> Scores:
    rows = [(model, f"u{unit}", "hit", value) for model, own in values.items() for unit, value in enumerate(own)]
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
    return Scores.from_table(frame, metrics={"hit": {"label": "Hits", "digits": 1, **metric}})


def quote(scores: Scores, *models: str, margin: float | None = None) -> str:
    """Return the sentence to quote, without its interval."""
    options = {**OPTIONS, "metrics": ["hit"], "margin": margin}
    frame = scores.compare(*models, **options) if models else scores.compare_all(**options)
    said, *_ = quotes(scores, frame, AnalysisOptions(**OPTIONS))
    return re.sub(r", 95% interval \[[^]]*\]", "", said)


HIGH, LOW = [2.0 + unit % 3 / 10 for unit in range(10)], [1.0 + unit % 2 / 10 for unit in range(10)]


def test_a_significant_difference_is_quoted_from_the_better_model() -> None:
    said = (
        "a scores higher than b in Hits (mean 2.1 against 1.1): difference 1.0, p = 0.0020 (paired permutation test), "
        "n = 10 units."
    )
    assert quote(scores_of({"a": HIGH, "b": LOW})) == said
    assert quote(scores_of({"a": HIGH, "b": LOW}), "b", "a") == said
    lower = quote(scores_of({"a": HIGH, "b": LOW}, higher_is_better=False))
    assert lower.startswith("b scores lower (better) than a in Hits (mean 1.1 against 2.1): difference -1.0, ")


def test_no_significant_difference_is_quoted_with_what_could_have_been_found() -> None:
    close = {"a": [value + unit % 3 / 2 - 0.4 for unit, value in enumerate(HIGH)], "b": HIGH}
    said = quote(scores_of(close))
    assert said.startswith(
        "No significant difference between a and b in Hits (mean 2.1 against 2.1): difference 0.0, p = "
    )
    assert re.search(r", smallest detectable difference \d\.\d \(80% power\), n = 10 units\.$", said)
    # Of 5 units no p-value is below 2 / 2^5.
    few = quote(scores_of({"a": HIGH[:5], "b": LOW[:5]}))
    assert few.endswith(
        "p = 0.0625 (paired permutation test), and no difference could have been significant, n = 5 units."
    )


def all_quotes(scores: Scores, *metrics: str) -> list[str]:
    frame = scores.compare_all(metrics=metrics or ["hit"], **OPTIONS)
    return quotes(scores, frame, AnalysisOptions(**OPTIONS))


def test_the_best_two_and_every_pair_that_differs_are_quoted() -> None:
    close = [value + unit % 3 / 2 - 0.4 for unit, value in enumerate(HIGH)]
    first, *others = said = all_quotes(scores_of({"a": close, "b": HIGH, "c": LOW}))
    assert first.startswith(
        "No significant difference between a and b in Hits (mean 2.1 against 2.1): difference 0.0, "
    )
    assert all(", uncorrected 95% interval [" in one for one in said)
    assert sorted(one.partition(" in Hits")[0] for one in others) == [
        "a scores higher than c", "b scores higher than c",
    ]  # fmt: skip
    assert all("(paired permutation test, Holm-corrected over 3 pairs), " in one for one in said)
    [alone] = all_quotes(scores_of({"a": HIGH, "c": LOW}))
    assert ", 95% interval [" in alone
    assert "corrected" not in alone


def test_models_of_the_user_are_quoted_before_baselines() -> None:
    middle = [value - 0.4 for value in HIGH]
    said = all_quotes(scores_of({"baseline/x": HIGH, "baseline/y": middle, "m": LOW}))
    pairs = [" ".join(re.findall(r"baseline/\w|\bm\b", one.partition(" in Hits")[0])) for one in said]
    assert pairs == ["baseline/x m", "baseline/y m", "baseline/x baseline/y"]


def test_means_that_are_quoted_are_of_the_units_that_both_have() -> None:
    lacking = {"a": [*HIGH, 9.0, None], "b": [*LOW, None, 9.0]}
    [said] = all_quotes(scores_of(lacking))
    assert " in Hits (mean 2.1 against 1.1, on the units that both have): difference 1.0, " in said
    share = quote(scores_of({"a": [1] * 10, "b": [0] * 10}, low=0, high=1, statistic="share"))
    assert " in Hits (1.0 against 0.0): difference 1.0, " in share


def test_of_people_no_means_are_quoted_that_tell_of_the_few_other_units() -> None:
    def said(values: Mapping[str, Sequence[float | None]]) -> str:
        scores = scores_of(values)
        private = replace(scores, provenance=scores.provenance.model_copy(update={"private": True}))
        return quote(private)

    assert said({"a": HIGH, "b": LOW}).startswith("a scores higher than b in Hits (mean 2.1 against 1.1): difference ")
    assert said({"a": [*HIGH, 9.0], "b": [*LOW, None]}).startswith("a scores higher than b in Hits: difference 1.0, ")


def test_a_p_value_as_small_as_the_resamples_can_give_is_a_bound() -> None:
    scores = scores_of({"a": [*HIGH, *HIGH], "b": [*LOW, *LOW], "c": [value - 1 for value in LOW * 2]})
    frame = scores.compare_all(metrics=["hit"], **OPTIONS)
    assert frame["p_holm"].to_list() == pytest.approx([3 / 2001] * 3)
    options = AnalysisOptions(**OPTIONS)
    assert all(", p < 0.0015 (paired permutation test" in one for one in quotes(scores, frame, options))
    made = Document(comparison_tables(scores, frame))
    text = render(made, columns=120)
    assert text.count(" <0.0005 ") == text.count(" <0.0015 ") == 3
    assert json_content(made)["comparisons"][0]["p_holm"] == pytest.approx(3 / 2001)
    bound = "<: no random exchange gave a difference as large."
    assert bound in comparison_note(scores, frame, options, 2000)
    # All exchanges of 10 units are evaluated, and the least of their p-values is exact.
    few = scores_of({"a": HIGH, "b": LOW})
    exact = few.compare_all(metrics=["hit"], **OPTIONS)
    assert exact["p"][0] == exact["p_min"][0]
    assert "p = 0.0020 " in quotes(few, exact, options)[0]
    assert bound not in comparison_note(few, exact, options, 2000)


@pytest.mark.parametrize(("models", "quoted"), [(4, 6), (5, 1)])
def test_of_more_than_six_sentences_those_of_the_best_two_are_left(models: int, quoted: int) -> None:
    values = {f"m{place}": [value + 5 * place for value in HIGH * 2] for place in range(models)}
    said = all_quotes(scores_of(values))
    assert len(said) == quoted
    assert any(one.startswith(f"m{models - 1} scores higher than m{models - 2} in Hits") for one in said)


def test_baselines_are_not_the_best_two() -> None:
    values = {"c": LOW, "baseline/x": [value + 5 for value in HIGH], "a": HIGH}
    pairs = [one.partition(" in Hits")[0] for one in all_quotes(scores_of(values))]
    assert "a scores higher than c" in pairs


def test_two_models_of_more_are_quoted_as_uncorrected_for_the_others() -> None:
    values = {"c": LOW, "a": HIGH}
    note = "uncorrected for the other models of the table"
    assert note not in quote(scores_of(values), "a", "c")
    said = quote(scores_of({**values, "b": [value / 2 for value in LOW]}), "a", "c")
    assert f"p = 0.0020 (paired permutation test, {note})" in said
    assert "Holm" not in said


def test_a_margin_is_quoted_where_the_difference_is_within_it() -> None:
    within = "; within the margin of 1.5, they are practically the same."
    assert quote(scores_of({"a": HIGH, "b": LOW}), margin=1.5).endswith(within)
    assert "practically" not in quote(scores_of({"a": HIGH, "b": LOW}), margin=0.5)
    assert "practically" not in quote(scores_of({"a": HIGH, "b": LOW}))


def test_pairs_without_a_test_and_strata_are_not_quoted() -> None:
    apart = scores_of({"a": [*HIGH, *[None] * 10], "b": [*[None] * 10, *LOW]})
    frame = apart.compare_all(metrics=["hit"], **OPTIONS)
    assert quotes(apart, frame, AnalysisOptions(**OPTIONS)) == []
    scores = scores_of({"a": HIGH, "b": LOW})
    strata = scores.compare_all(metrics=["hit"], **OPTIONS).with_columns(stratum=pl.lit("all"))
    assert quotes(scores, strata, AnalysisOptions(**OPTIONS)) == []


@pytest.mark.parametrize("models", [5, 6])
def test_above_five_models_text_has_a_matrix_and_json_every_pair(models: int) -> None:
    steps = {f"m{place}": [10.0 - place + unit % 2 / 10 for unit in range(20)] for place in range(models - 1)}
    steps["same"] = [9.99 + unit % 2 / 10 + unit % 3 / 100 for unit in range(20)]
    scores = scores_of(steps)
    frame = scores.compare_all(metrics=["hit"], **OPTIONS)
    made = Document(comparison_tables(scores, frame, full=False))
    text = render(made, columns=80)
    are_matrices = matrices(frame)
    assert are_matrices == [models > 5]
    note = comparison_note(scores, frame, AnalysisOptions(**OPTIONS), OPTIONS["resamples"], full=False)
    assert ("+ significantly better" in note, "A minus B" in note, "In brackets" in note) == (
        models > 5, models <= 5, models <= 5
    )  # fmt: skip
    if models > 5:
        lines = [line.split() for line in text.splitlines() if re.match(r"\d ", line)]
        assert [line[1] for line in lines[-4:]] == ["m1", "m2", "m3", "m4"]
        assert lines[0][2:] == ["=", "+", "+", "+", "+"]
        assert lines[-1][2:] == ["-", "-", "-", "-", "-"]
        assert "undefined" not in text
    else:
        assert re.search(r"A +B +A minus B +differ +p +Holm p +n$", text, re.MULTILINE)
    pairs = json_content(made)["comparisons"]
    assert len(pairs) == models * (models - 1) / 2
    whole = Document(comparison_tables(scores, frame))
    assert pairs == json_content(whole)["comparisons"]
    assert re.search(r"A +B +A minus B +differ .* p min +mde$", render(whole, columns=120), re.MULTILINE)


def test_the_note_explains_the_words_of_the_title_and_of_the_intervals() -> None:
    for models in ("ab", "abcdef"):
        scores = scores_of({name: HIGH if name < "d" else LOW for name in models})
        frame = scores.compare_all(**OPTIONS)
        said = comparison_note(scores, frame, AnalysisOptions(**OPTIONS), 2000, full=False)
        assert "ncorrected intervals: 95% intervals by resampling units (expanded percentile: wider for few " in said
        assert "the family, the pairs that are corrected together;" in said
        assert "By the uncorrected interval: pairs with an interval that excludes 0." in said
        assert "wider" not in comparison_note(scores, frame, AnalysisOptions(interval="percentile"), 2000)


def test_the_note_explains_only_the_columns_there_are() -> None:
    scores = scores_of({"a": HIGH, "b": LOW})
    options = AnalysisOptions(**OPTIONS)
    for margin in (None, 0.5):
        frame = scores.compare_all(margin=margin, **OPTIONS)
        for full in (True, False):
            said = comparison_note(scores, frame, options, 2000, full=full)
            explained = [name in said for name in ("p min:", "mde:", "p same:")]
            assert explained == [full, full, margin is not None]
