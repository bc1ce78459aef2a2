"""Suppression: what is hidden does not follow from what is shown by subtraction, and what is missing has a reason."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pages import cells as cells_of
from pages import headings, left_out, section, tables, text_of

from attune_bench import Scores, score
from attune_bench.adapters.eee import Publisher, eee_records
from attune_bench.adapters.exports import flat_tables, hub_results
from attune_bench.leaderboard.boards import Entry, leaderboard_content, make_boards
from attune_bench.report.privacy import few_groups, few_strata, hidden_strata, hide_small_cells
from attune_data import Conversations, load, load_runs

Traits = Mapping[str, Mapping[str, str]]


def of_people(people: str) -> Scores:
    """Return private scores of one model on a unit of each of some people."""
    frame = pl.DataFrame({"unit": sorted(people)}).with_columns(
        pl.lit("m").alias("model"), pl.lit("x").alias("metric"), pl.lit(1.0).alias("value"), cluster="unit"
    )
    return private(Scores.from_table(frame))


def private(scores: Scores) -> Scores:
    return replace(scores, provenance=scores.provenance.model_copy(update={"private": True}))


def hidden(whole: str, known: str | None = None, **traits: Mapping[str, str]) -> tuple[set[str], set[str]]:
    """Return the strata whose values are hidden, and those whose differences are, of people a, b, c..."""
    among = list(whole if known is None else known)
    given = {trait: ({name: list(units) for name, units in strata.items()}, among) for trait, strata in traits.items()}
    [found] = hidden_strata(of_people(whole), "x", given).values()
    values, differences = ({name for _, name, of_rest in found if of_rest is rest} for rest in (False, True))
    assert values <= differences
    return values, differences


def test_nothing_is_hidden_of_many() -> None:
    assert hidden("abcdefghij", t={"one": "abcde", "two": "fghij"}) == (set(), set())


def test_a_hidden_part_takes_the_smallest_other_with_it() -> None:
    # Whole minus six minus seven minus five leaves the three; five and three together are eight.
    parts = {"six": "abcdef", "seven": "ghijklm", "five": "nopqr", "three": "stu"}
    assert hidden("abcdefghijklmnopqrstu", t=parts)[0] == {"three", "five"}


def test_only_none_and_a_small_other() -> None:
    assert hidden("abcdefghijkl", t={"none": "abcdefghij", "other": "kl"})[0] == {"none", "other"}


def test_two_hidden_parts_that_are_few_together() -> None:
    # The sum of both, of three people, follows from whole minus five minus six.
    parts = {"five": "abcde", "six": "fghijk", "two": "lm", "one": "n"}
    assert hidden("abcdefghijklmn", t=parts)[0] == {"five", "two", "one"}


def test_people_in_no_stratum_are_hidden_ones() -> None:
    # m and n are in no stratum of the trait: whole minus both strata is these two.
    parts = {"five": "abcde", "seven": "fghijkl"}
    assert hidden("abcdefghijklmn", t=parts)[0] == {"five"}
    assert hidden("abcdefghijklmnopq", t=parts)[0] == set()


def test_a_difference_gives_the_complement_away() -> None:
    # Value minus difference is the mean of the complement among a to l: i to l, four people.
    assert hidden("abcdefghijklmnopq", "abcdefghijkl", t={"part": "abcdefgh"}) == (set(), {"part"})
    assert hidden("abcdefghijklmnopqr", "abcdefghijklm", t={"part": "abcdefgh"}) == (set(), set())


def test_counts_of_people_are_hidden_by_the_same_rule() -> None:
    # Of the twenty people a to t: three, the smallest other with it, and nothing where a stratum has none of them.
    parts = {"three": "abc", "six": "defghi", "eleven": "jklmnopqrst", "elsewhere": "uvwxy"}
    table = of_people("abcdefghijklmnopqrstuvwxy")
    assert few_strata(table, "abcdefghijklmnopqrst", parts, "abcdefghijklmnopqrstuvwxy") == {"three", "six"}
    assert few_strata(table, "defghijklmnopqrst", parts, "abcdefghijklmnopqrstuvwxy") == set()


def test_few_of_unknown_value_follow_from_a_difference() -> None:
    # Stratum and complement are a to j: whole minus both is k and l, whose value of the trait is not known.
    strata = {"one": "abcde", "two": "fghij"}
    assert hidden("abcdefghijklmnopq", "abcdefghij", t=strata) == (set(), set())
    assert hidden("abcdefghijkl", "abcdefghij", t=strata | {"unknown": "kl"})[1] == {"one", "two", "unknown"}


def test_of_two_traits_the_smaller_of_nested_strata_is_hidden() -> None:
    # Women minus mothers leaves two, and so do others minus men.
    women, mothers = {"women": "abcdefgh", "men": "ijklmnop"}, {"mothers": "abcdef", "others": "ghijklmnop"}
    assert hidden("abcdefghijklmnop", sex=women, parent=mothers)[0] == {"mothers", "men"}
    assert hidden("abcdefghijklmnop", sex=women, parent={"mothers": "abcdef"})[0] == {"mothers"}
    # Each alone tells of no few.
    assert hidden("abcdefghijklmnop", sex=women)[0] == hidden("abcdefghijklmnop", parent=mothers)[0] == set()


def test_clusters_are_counted_not_units() -> None:
    # Ten conversations of two people are of two people.
    frame = pl.DataFrame({"unit": [f"u{i:02}" for i in range(30)]}).with_columns(
        cluster=pl.Series([f"p{min(i, 21 + i % 2)}" for i in range(30)]),
        model=pl.lit("m"),
        metric=pl.lit("x"),
        value=pl.lit(1.0),
    )
    scores = private(Scores.from_table(frame))
    units = scores.units["unit"].to_list()
    [found] = hidden_strata(scores, "x", {"t": ({"many": units[:21], "two": units[21:]}, units)}).values()
    assert ("t", "two", False) in found


LETTERS = "abcdefghijklmnopqrst"


@given(
    st.integers(5, 20),
    st.lists(st.lists(st.sampled_from(LETTERS), max_size=20), min_size=1, max_size=4),
    st.lists(st.lists(st.sampled_from(LETTERS), max_size=20), max_size=3),
    st.lists(st.sampled_from(LETTERS), max_size=3),
)
def test_no_rest_between_shown_sets_is_of_few(
    size: int, first: Sequence[Sequence[str]], second: Sequence[Sequence[str]], unknown: Sequence[str]
) -> None:
    whole = set(LETTERS[:size])
    known = whole - set(unknown)
    traits = {
        trait: {f"{trait}{place}": "".join(sorted(set(part))) for place, part in enumerate(parts)}
        for trait, parts in (("s", first), ("t", second))
    }
    values, differences = hidden("".join(sorted(whole)), "".join(known), **traits)
    strata = {name: whole & set(units) for parts in traits.values() for name, units in parts.items()}
    shown = [units for name, units in strata.items() if name not in values]
    complements = [known - units for name, units in strata.items() if name not in differences]
    told = [whole, *shown, *complements, *([known] if complements else [])]
    assert all(len(units) >= 5 for units in shown + complements)
    for large, small in permutations(told, 2):
        assert not small < large or len(large - small) >= 5
    for parts in traits.values():
        of_trait = [strata[name] for name in parts if name not in values]
        assert not of_trait or not 0 < len(whole.difference(*of_trait)) < 5


@given(st.lists(st.integers(5, 9), min_size=1, max_size=5))
def test_nothing_is_hidden_of_strata_that_are_many_and_all(sizes: Sequence[int]) -> None:
    people = [chr(ord("A") + place) for place in range(sum(sizes))]
    ends = [sum(sizes[: place + 1]) for place in range(len(sizes))]
    strata = {
        f"s{place}": "".join(people[end - size : end])
        for place, (end, size) in enumerate(zip(ends, sizes, strict=True))
    }
    values, differences = hidden("".join(people), t=strata)
    assert values == set()
    # One stratum alone has nobody in its complement.
    assert differences == (set() if len(sizes) > 1 else {"s0"})


def test_only_private_scores_are_hidden() -> None:
    scores = of_people("abc")
    frame = scores.summary(resamples=5)
    assert hide_small_cells(scores, frame, small_cells=False)["value"].to_list() == [None]
    assert hide_small_cells(scores, frame, small_cells=False)["reason"].to_list() == [
        "fewer than 5 clusters, not shown"
    ]
    assert hide_small_cells(scores, frame, small_cells=True).equals(frame)
    public = replace(scores, provenance=scores.provenance.model_copy(update={"private": False}))
    assert hide_small_cells(public, frame, small_cells=False).equals(frame)
    assert few_groups(scores) == [("m", None)]


# The page.


@pytest.mark.slow
def test_a_difference_is_hidden_where_the_rest_is_few() -> None:
    # Of 34 people 16 are in one stratum and 4 in another; the group of 14 is not known, so that 4 are the complement.
    frame = pl.DataFrame(
        [
            (
                model,
                f"u{place}",
                "x",
                float(place),
                f"p{place}",
                "a" if place < 16 else None if place < 30 else "few",
            )
            for model in ("a", "b")
            for place in range(34)
        ],
        schema=["model", "unit", "metric", "value", "cluster", "group"],
        orient="row",
    )
    scores = private(Scores.from_table(frame, about={"cluster": "person"}))
    [head, *rows] = tables(section(scores.report(format="html", resamples=20), "Subgroups"))[0]
    cells = {row[0]: dict(zip(head, row, strict=True)) for row in rows if row[1] == "a"}
    # The mean of 0 to 15, and of 16 to 29.
    assert cells["a"]["x"].startswith("7.500")
    assert cells["no answer"]["x"] == cells["few"]["x"] == "-"
    assert {"difference", "p", "Holm p"}.isdisjoint(head)
    # The figure shows no more: a cell without a colour, which is the difference.
    drawn = section(scores.report(format="html", resamples=20), "Subgroups").partition('<details class="fold')[0]
    assert cells_of(drawn) == {("a", "a"): "7.500", ("a", "b"): "7.500"}
    assert re.findall(r'<td title="[^"]*" ?(?:class="([ud][1-5])")?>', drawn) == ["", ""]
    assert "minus the others" not in drawn
    notes = text_of(section(scores.report(format="html", resamples=20), "Subgroups"))
    assert "difference not shown, as a smaller stratum would follow" in notes
    whole = tables(section(scores.report(format="html", resamples=20, small_cells=True), "Subgroups"))[0]
    assert "-24.000" in {row[whole[0].index("difference")].split()[0] for row in whole[1:]}


def test_what_few_people_failed_at_does_not_follow_from_two_variants() -> None:
    scores = of_people("abcdefgh")
    variants = pl.concat(
        [
            scores.values.with_columns(failed=pl.lit("exclude")),
            scores.values.with_columns(failed=pl.lit("worst"), x=(pl.col("unit") != "a").cast(pl.Float64)),
        ]
    )
    choices = replace(scores, variants=variants)
    assert "worst" not in choices.report(format="html", resamples=20)
    assert "0.875" in choices.report(format="html", resamples=20, small_cells=True)


@pytest.fixture(scope="module")
def conversations() -> Conversations:
    return load("demo")


@pytest.fixture(scope="module")
def scores(conversations: Conversations) -> Scores:
    return score(conversations, load_runs("demo"))


@pytest.fixture(scope="module")
def page(scores: Scores, conversations: Conversations) -> str:
    return scores.report(format="html", data=conversations, resamples=50)


@pytest.mark.slow
def test_a_hidden_category_does_not_follow_from_the_others(
    page: str, scores: Scores, conversations: Conversations
) -> None:
    frame = scores.by("category", data=conversations, metrics=["composite_score"], resamples=10)
    [_, table] = tables(section(page, "Subgroups"))
    head, *rows = table
    for model in scores.models:
        sizes = {row["stratum"]: row for row in frame.filter(model=model).iter_rows(named=True)}
        (few,) = [name for name, row in sizes.items() if row["clusters"] < 5]
        cells = {row[0]: dict(zip(head, row, strict=True)) for row in rows if row[1] == model}
        assert cells.keys() == sizes.keys()
        missing = [name for name, row in cells.items() if row["Composite"] == "-"]
        assert few in missing
        assert all(cells[name][column] == "-" for name in missing for column in ("difference", "p", "Holm p", "n"))
        # Headline minus what is shown, or value minus difference minus what is shown, is of all that is missing.
        traits = conversations.tables.conversations
        people = set(traits.filter(traits["category"].is_in(list(missing)))["participant_id"])
        assert len(missing) == 2
        assert len(people) >= 5
    said = text_of(section(page, "Subgroups"))
    assert "fewer than 5 participants, not shown." in said
    assert "not shown, as a smaller stratum would follow." in said


@pytest.mark.slow
def test_no_digit_beyond_those_printed(page: str) -> None:
    values = re.findall(r'data-value="([^"]*)"', page)
    assert len(values) > 50
    assert all(len(value.partition(".")[2]) <= 4 for value in values)


@pytest.mark.slow
def test_a_model_on_few_participants_is_not_shown(scores_of: Callable[..., Scores]) -> None:
    many: dict[str, dict[str, object]] = {f"c{i}": {} for i in range(5)}
    few: dict[str, dict[str, object]] = {f"c{i}": {} for i in range(4)}
    scores = scores_of({"vendor/many": many, "vendor/few": few})
    page = scores.report(format="html", resamples=20)
    assert left_out(page)["vendor/few [default]"] == "run on fewer than 5 participants (--small-cells)"
    assert page.count("vendor/few") == 1
    assert page.count("vendor/many") > 1
    hint = "Models run on fewer than 5 participants are not shown"
    assert page.index(hint) < page.index("<h2>Scores</h2>")
    assert hint not in scores_of({"vendor/many": many}).report(format="html", resamples=20)
    assert scores.report(format="html", resamples=20, small_cells=True).count("vendor/few") > 1
    with pytest.raises(ValueError, match="every model was run on fewer than 5 participants"):
        scores_of({"vendor/few": few}).report(format="html", resamples=20)


@pytest.mark.slow
def test_a_metric_of_few_participants_is_not_shown(scores_of: Callable[..., Scores]) -> None:
    judged: dict[str, dict[str, object]] = {f"c{i}": {"composite_score": 12.34 if i < 4 else None} for i in range(8)}
    scores = scores_of({"a": judged, "b": {f"c{i}": {} for i in range(8)}})
    page = scores.report(format="html", resamples=20)
    [head, *rows] = tables(section(page, "Scores"))[0]
    cells = {row[0]: row[head.index("Composite")] for row in rows}
    assert cells["a"] == "-"
    assert cells["b"].startswith("64.69")
    assert "12.34" not in page
    assert "12.34" in scores.report(format="html", resamples=20, small_cells=True)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["composite_score", "avg_pairwise_accuracy"])
def test_nothing_depends_on_values_of_few(scores_of: Callable[..., Scores], metric: str) -> None:
    units = [f"c{place}" for place in range(8)]
    scores = scores_of({f"vendor/{model}": {unit: {} for unit in units} for model in "abc"})
    # Signatures that do not hash the scores.
    scores = replace(scores, provenance=scores.provenance.model_copy(update={"data": "0" * 32, "runs": "0" * 32}))
    place, in_b = pl.col("unit").cast(pl.String).str.tail(1).cast(pl.Int64), pl.col("model") == "vendor/b"

    def shown(of_few: float) -> dict[str, Any]:
        top = 100 if metric == "composite_score" else 1
        # The second model has a value for four people.
        own = pl.when(place < 4).then(top * (of_few + place / 100))
        others = top * (pl.when(model="vendor/a").then(0.5).otherwise(0.4) + place * 0.03)
        values = scores.values.with_columns(pl.when(in_b).then(own).otherwise(others).alias(metric))
        return outputs(replace(scores, values=values))

    def outputs(scores: Scores) -> dict[str, Any]:
        metrics = list(scores.metrics)
        flat = flat_tables(scores, resamples=20)
        return {
            "page": scores.report(format="html", resamples=20),
            "notebook": scores._repr_html_(),
            **{name: frame.rows() for name, frame in flat.items()},
            "eee": eee_records(scores, Publisher(organization="Lab"), metrics=metrics, resamples=20),
            "hub": hub_results(scores, dataset="lab/data", metrics=metrics, resamples=20),
            "board": leaderboard_content(make_boards([Entry("x", scores)]), resamples=20),
        }

    low, high = shown(0.05), shown(0.9)
    assert {name for name in low if low[name] != high[name]} == set()


@pytest.mark.slow
def test_what_random_answers_score_on_few_participants_is_not_shown(scores_of: Callable[..., Scores]) -> None:
    scores = scores_of({"a": {f"c{i}": {} for i in range(8)}})
    # Eight participants, of whom four changed in mood.
    known: dict[str, list[float | None]] = {
        "panas_baseline_adjusted": [-0.875] * 4 + [None] * 4,  # its range is finite: profiles show it
        "four_branch_normalized": [0.625] * 8,
    }
    columns = [pl.Series(f"chance.{name}", values, pl.Float64) for name, values in known.items()]
    scores = replace(scores, units=scores.units.select("unit", "cluster", *columns))
    for small_cells, said in ((False, ""), (True, "PANAS baseline-adjusted -0.875, ")):
        page = scores.report(format="html", resamples=20, small_cells=small_cells)
        sentence = f"Random answers on these data score on average: {said}Four-branch normalized 0.625."
        assert sentence in text_of(section(page, "Scores"))
        assert ("0.875" in page) == small_cells


@pytest.mark.slow
def test_why_a_section_is_missing(scores_of: Callable[..., Scores]) -> None:
    units: dict[str, dict[str, object]] = {f"c{i}": {} for i in range(6)}
    one, two = (
        left_out(scores_of(dict.fromkeys(models, units)).report(format="html", resamples=20)) for models in ("a", "ab")
    )
    assert one["Win rates"] == "Pairwise accuracy: needs scores of at least two models in one mode"
    assert one["Comparisons"] == "the scores have one model"
    assert "Ranks" not in one
    assert two["Correlation of metrics without noise"] == "fewer than 6 models"
    assert two["Differences between modes"] == "needs scores under at least two modes"
    assert two["Difficulty of conversations"] == "shows single conversations (--small-cells)"


@pytest.mark.slow
def test_a_part_of_the_data(scores: Scores, conversations: Conversations) -> None:
    part = conversations.where(category=["Family", "Health", "Money", "Relationships", "Work"])
    lacking = len(conversations) - len(part)
    assert lacking > 1
    page = scores.report(format="html", data=part, results=load_runs("demo"), resamples=20)
    assert f"The data lack {lacking} of 40 scored conversations." in text_of(section(page, "Subgroups"))
    assert left_out(page)["Agreement by question"] == f"The data lack {lacking} of 40 scored conversations"
    assert not any(one.id in page for one in conversations)


@pytest.mark.slow
def test_other_data(scores: Scores, conversations: Conversations) -> None:
    other = Conversations([conversations[0].model_copy(update={"conversation_id": "other"})])
    page = scores.report(format="html", data=other, resamples=20)
    assert left_out(page)["Subgroups"] == "none of the 40 conversations scored is in the data"


@pytest.mark.slow
def test_a_part_of_the_runs(scores: Scores, conversations: Conversations) -> None:
    page = scores.report(format="html", data=conversations, results=list(load_runs("demo"))[1:], resamples=20)
    assert left_out(page)["Agreement by question"] == "the run files are not all those that were scored"
    assert not any(one.id in page for one in conversations)
    assert "Subgroups" in headings(page)
