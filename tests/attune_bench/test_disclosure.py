"""The HTML report: what is hidden cannot be computed from what is shown, and what is missing has a reason."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from attune_bench import Scores, score
from attune_bench.report._disclosure import _few_follow, withheld
from attune_bench.report.html import html_report
from attune_data import Conversations, load, load_runs


def away(parts: Mapping[str, str], *public: str) -> set[str]:
    """Return what is hidden of parts of people a, b, c...; the whole is the first of `public`."""
    units = sorted(set(public[0]))
    masks = {name: np.array([unit in part for unit in units]) for name, part in parts.items()}
    shown = [np.array([unit in part for unit in units]) for part in public]
    return withheld(masks, shown, range(len(units)))


def test_nothing_is_hidden_of_many() -> None:
    assert away({"one": "abcde", "two": "fghij"}, "abcdefghij") == set()


def test_a_hidden_part_takes_the_smallest_other_with_it() -> None:
    # Whole minus six minus seven leaves the three; five and three together are eight.
    parts = {"six": "abcdef", "seven": "ghijklm", "five": "nopqr", "three": "stu"}
    assert away(parts, "abcdefghijklmnopqrstu") == {"three", "five"}


def test_only_none_and_a_small_other() -> None:
    assert away({"none": "abcdefghij", "other": "kl"}, "abcdefghijkl") == {"none", "other"}


def test_two_hidden_parts_that_are_few_together() -> None:
    # The sum of both, of three people, follows from whole minus five minus six.
    parts = {"five": "abcde", "six": "fghijk", "two": "lm", "one": "n"}
    assert away(parts, "abcdefghijklmn") == {"five", "two", "one"}


def test_those_who_are_in_two_parts() -> None:
    # a-f and e-j hold everybody: their sum minus the whole is e and f.
    assert away({"first": "abcdef", "second": "efghij"}, "abcdefghij") == {"first", "second"}
    # With five more people in no part, nothing of e and f follows.
    assert away({"first": "abcdef", "second": "efghij"}, "abcdefghijklmno") == set()


def tried_out(known: Sequence[NDArray[np.bool_]], people: Sequence[int]) -> bool:
    """Try every set of fewer than 5 participants: a sum of theirs alone is one that the others' weights leave."""
    weights = np.array(known, dtype=np.float64)
    rank = np.linalg.matrix_rank(weights)
    few = chain.from_iterable(combinations(set(people), size) for size in range(1, 5))
    return any(np.linalg.matrix_rank(weights[:, ~np.isin(people, some)]) < rank for some in few)


@given(st.data())
def test_of_few_is_what_trying_every_few_finds(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 12), label="units")
    people = data.draw(st.lists(st.integers(0, 11), min_size=n, max_size=n), label="people")
    # A few kinds of units, each with many: else nearly everything follows.
    kinds = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n), label="kinds")
    sets = data.draw(st.lists(st.sets(st.integers(0, 3)), min_size=1, max_size=5), label="sets")
    one = data.draw(st.sets(st.integers(0, n - 1)), label="one more")
    known = [np.isin(kinds, list(kind)) for kind in sets] + [np.isin(range(n), list(one))]
    assert _few_follow(known, people) == tried_out(known, people)


def test_cells_of_one_participant_each() -> None:
    # A grid of 5 by 200: every sum has weights a of the row plus b of the column. It is 0 for all but at least one
    # whole row or column, so the least that follows is of 5.
    people = np.random.default_rng(0).permutation(1000)
    known = [people % 5 == row for row in range(5)] + [people // 5 == column for column in range(200)]
    assert not _few_follow(known, range(1000))
    # Without one of a column, that one follows; nothing does where the column's own mean is unknown, too.
    assert _few_follow([*known, (people // 5 == 7) & (people != 36)], range(1000))
    known[5 + 7] &= people != 36
    assert _few_follow(known, range(1000))  # the column is also the whole without the others
    assert not _few_follow(known[:12] + known[13:], range(1000))


def test_what_is_public_counts() -> None:
    # The complement among a-l is known: the part and its complement are all but m to q.
    assert away({"part": "abcdefgh"}, "abcdefghijklmnopq") == set()
    assert away({"part": "abcdefgh"}, "abcdefghijklmnopq", "abcdefghijkl") == {"part"}


@pytest.fixture(scope="module")
def conversations() -> Conversations:
    return load("demo")


@pytest.fixture(scope="module")
def scores(conversations: Conversations) -> Scores:
    return score(conversations, load_runs("demo"))


@pytest.fixture(scope="module")
def page(scores: Scores, conversations: Conversations) -> str:
    return html_report(scores, data=conversations, resamples=50)


def shown(page: str, heading: str, model: str) -> dict[str, tuple[float, float, int]]:
    """Return composite, difference and n of the rows of a table that show them."""
    table = page[page.index(f"<h3>{heading}</h3>") :].partition("</table>")[0]
    found = {}
    for row in re.findall(r"<tr>(.*?)</tr>", table)[1:]:
        name = re.findall(r"<bdi>(.*?): (.*?)</bdi>", row)[0]
        values = re.findall(r'data-value="([^"]*)"', row)
        if name[1] == model and values[0]:
            found[name[0]] = float(values[0]), float(values[1]), int(values[-1])
    return found


def test_a_hidden_category_does_not_follow_from_the_others(
    page: str, scores: Scores, conversations: Conversations
) -> None:
    frame = scores.by("category", data=conversations, metrics=["composite_score"], resamples=10)
    for model in frame["model"].unique():
        sizes = {row["stratum"]: row for row in frame.filter(model=model).iter_rows(named=True)}
        (few,) = [name for name, row in sizes.items() if row["participants"] < 5]
        left = shown(page, "Category", model)
        missing = sizes.keys() - left.keys()
        assert few in missing
        # Headline minus what is shown, or value minus difference minus what is shown, is of all that is missing.
        traits = conversations.tables.conversations
        people = set(traits.filter(traits["category"].is_in(list(missing)))["participant_id"])
        assert len(missing) == 2
        assert len(people) >= 5
        assert f"{few}: {model}" in page
        assert "not shown, as a smaller group would follow" in page


def test_no_digit_beyond_those_printed(page: str) -> None:
    values = re.findall(r'data-value="([^"]*)"', page)
    assert len(values) > 50
    assert all(len(value.partition(".")[2]) <= 4 for value in values)


def test_a_model_on_few_participants_is_not_shown(scores_of: Callable[..., Scores]) -> None:
    many: dict[str, dict[str, object]] = {f"c{i}": {} for i in range(5)}
    few: dict[str, dict[str, object]] = {f"c{i}": {} for i in range(4)}
    scores = scores_of({"vendor/many": many, "vendor/few": few})
    page = html_report(scores, resamples=20)
    (said,) = re.findall(r"<li>([^<]*vendor/few[^<]*)</li>", page)
    assert said == "vendor/few [default]: run on fewer than 5 participants (--small-cells)"
    assert page.count("vendor/few") == 1
    assert page.count("vendor/many") > 1
    hint = "Models run on fewer than 5 participants are not shown"
    assert page.index(hint) < page.index("<h2>Scores</h2>")
    assert hint not in html_report(scores_of({"vendor/many": many}), resamples=20)
    assert html_report(scores, resamples=20, small_cells=True).count("vendor/few") > 1
    with pytest.raises(ValueError, match="every model was run on fewer than 5 participants"):
        html_report(scores_of({"vendor/few": few}), resamples=20)


def test_why_a_figure_is_missing(scores_of: Callable[..., Scores]) -> None:
    units: dict[str, dict[str, object]] = {f"c{i}": {} for i in range(6)}
    one, two = (html_report(scores_of(dict.fromkeys(models, units)), resamples=20) for models in ("a", "ab"))
    assert "Win rates: needs scores of at least two models in one mode" in one
    assert "Metrics across models: needs scores of at least three models in one mode" in two
    for page in (one, two):
        assert "hold nothing to show" not in page


def test_a_part_of_the_data(scores: Scores, conversations: Conversations) -> None:
    part = conversations.where(category=["Family", "Health", "Money", "Relationships", "Work"])
    lacking = len(conversations) - len(part)
    assert lacking > 1
    page = html_report(scores, data=part, runs=load_runs("demo"), resamples=20)
    assert f"The data lack {lacking} of 40 scored conversations." in page
    (why,) = re.findall(r"<li>(Agreement by question: [^<]*)</li>", page)
    assert why == f"Agreement by question: The data lack {lacking} of 40 scored conversations"
    assert not any(one.id in page for one in conversations)


def test_a_part_of_the_runs(scores: Scores, conversations: Conversations) -> None:
    page = html_report(scores, data=conversations, runs=list(load_runs("demo"))[1:], resamples=20)
    assert "<li>Agreement by question: The run files are not all those that were scored</li>" in page
    assert not any(one.id in page for one in conversations)
