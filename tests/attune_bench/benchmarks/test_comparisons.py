"""Analyses of comparisons in pairs, and the way of a stranger's table of votes through the commands."""

import json
from collections.abc import Callable
from itertools import combinations, permutations, product
from math import log2
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest

from attune_bench import Scores, score
from attune_bench.analyses import ANALYSES
from attune_bench.benchmarks.comparisons import (
    bias,
    judges,
    next_pairs,
    opponents,
    orders,
    ratings_without_bias,
    sections,
)
from attune_bench.report.page_scores import PageScores
from attune_bench.scores.pairwise import ELO
from attune_bench.stats.options import sorted_groups
from attune_data import load_records
from attune_data.comparisons import COMPARISON, Comparison
from attune_metrics import MetricInputError

pytestmark = pytest.mark.filterwarnings("ignore:.*far from the rest", "ignore:.* too few")

STRENGTHS = {"a": 0.5, "b": 0.0, "c": -0.5}
FAMILIES = {"family_a", "family_b", "judge_family"}


def vote(unit: object, a: str, b: str, winner: str, **more: Any) -> Comparison:
    return Comparison(unit=str(unit), a=a, b=b, winner=winner, **more)


def scored(votes: list[Comparison], **options: Any) -> Scores:
    return score(COMPARISON.collection(votes), **options)


def biased(units: int, *, first: float, doubling: float) -> list[Comparison]:
    """Return verdicts in which the answer shown first, and a long answer, has an advantage in log odds."""
    rng = Random(5)
    found = []
    for unit in range(units):
        length = {model: 2 ** rng.gauss(8 + (model == "c"), 1) for model in STRENGTHS}
        for a, b in (("a", "b"), ("b", "a"), ("b", "c"), ("c", "b"), ("a", "c"), ("c", "a")):
            odds = STRENGTHS[a] - STRENGTHS[b] + first + doubling * log2(length[a] / length[b])
            won = a if rng.random() < 1 / (1 + np.exp(-odds)) else b
            found.append(vote(unit, a, b, won, first=a, length_a=length[a], length_b=length[b]))
    return found


def test_bias_is_what_was_planted_and_ratings_are_freed_of_it() -> None:
    scores = scored(biased(200, first=0.6, doubling=0.4))
    rows = {row["term"]: row for row in bias(scores, resamples=400).iter_rows(named=True)}
    for term, planted in {"position": 0.6, "length": 0.4}.items():
        row = rows[term]
        assert row["low"] < ELO * planted < row["high"]
        assert row["high"] - row["low"] < 100
        assert row["chance"] == pytest.approx(1 / (1 + np.exp(-row["value"] / ELO)))
    found = {row["model"]: row for row in ratings_without_bias(scores, resamples=400).iter_rows(named=True)}
    for model, strength in STRENGTHS.items():
        row = found[model]
        assert row["low"] < 1000 + ELO * strength < row["high"]
        assert row["rating"] + row["shift"] == pytest.approx(row["value"])
    # The long answers of c were preferred for their length.
    assert found["c"]["shift_high"] < 0


def test_ratings_without_bias_are_on_the_scale_of_the_anchors() -> None:
    votes = biased(60, first=0.6, doubling=0.4)
    choices: list[dict[str, Any]] = [{}, {"anchors": {"a": 900, "c": 500}}]
    free, fixed = (ratings_without_bias(scored(votes, **one), resamples=50).sort("model") for one in choices)
    a, _, c = free["rating"]
    assert fixed["rating"].to_list()[::2] == pytest.approx([900, 500])
    assert fixed["shift"].to_list() == pytest.approx((free["shift"] * 400 / (a - c)).to_list())
    assert fixed["value"].to_list() == pytest.approx((fixed["rating"] + fixed["shift"]).to_list())


def test_what_comparisons_do_not_tell_has_a_reason() -> None:
    votes = [vote(n, "a", "b", "a" if n % 3 else "b") for n in range(12)]
    found = bias(scored(votes), resamples=50)
    assert found["reason"].to_list() == [
        "12 of 12 comparisons do not say which answer was shown first",
        "12 of 12 comparisons have no two lengths above 0",
        "no comparison says the family of its judge (column judge_family)",
    ]
    assert found["value"].null_count() == 3
    assert ratings_without_bias(scored(votes), resamples=50).is_empty()
    shown = [
        one.model_copy(update={"first": "a", "length_a": 100 + n % 5, "length_b": 102}) for n, one in enumerate(votes)
    ]
    position, length, _ = bias(scored(shown), resamples=50).iter_rows(named=True)
    assert "cannot be estimated beside the strengths" in position["reason"]
    assert length["low"] < length["value"] < length["high"]  # what can be estimated is
    sure = [one.model_copy(update={"first": one.winner}) for one in shown]
    position, length, _ = bias(scored(sure), resamples=50).iter_rows(named=True)
    assert position["reason"].startswith("no finite strengths fit best beside term 'position'")
    assert length["reason"] == "cannot be told from the position, which decides"
    assert ratings_without_bias(scored(sure), resamples=50).is_empty()


def test_a_judge_who_goes_by_the_order_is_named() -> None:
    def notes(by_order: int, **judge: str) -> list[str]:
        votes = [
            vote(unit, one, other, other if unit < by_order else "ab"[unit % 2], first=one, **judge)
            for unit, (one, other) in product(range(20), (("a", "b"), ("b", "a")))
        ]
        return [note for note in scored(votes).provenance.notes if "order" in note]

    said = " answer shown second won in both orders in 11 of 20 pairs of answers, whichever it was: "
    said += "these verdicts say more about the order than about the models."
    assert (notes(10), notes(11), notes(11, judge="j")) == ([], [f"The{said}"], [f"Judge j: the{said}"])


def of_families(units: int, *, own: float, judges: dict[str, str | None], **families: str) -> list[Comparison]:
    """Return verdicts of judges who prefer models of their own family by `own` in log odds."""
    rng = Random(5)
    found = []
    for unit, (judge, family), (a, b) in product(range(units), judges.items(), permutations(STRENGTHS, 2)):
        side = (families.get(a) == family) - (families.get(b) == family)
        won = a if rng.random() < 1 / (1 + np.exp(STRENGTHS[b] - STRENGTHS[a] - own * side)) else b
        told = {"family_a": families.get(a), "family_b": families.get(b), "judge_family": family}
        found.append(vote(unit, a, b, won, first=a, judge=judge, **told))
    return found


def test_self_preference_is_what_was_planted_where_judges_of_other_families_are_pooled() -> None:
    votes = of_families(150, own=0.8, judges={"j": "x", "human": None}, a="x", b="y", c="y")
    scores = scored(votes, judges="pooled")
    [row] = bias(scores, resamples=400).filter(term="self-preference").iter_rows(named=True)
    assert row["low"] < ELO * 0.8 < row["high"]
    assert row["high"] - row["low"] < 100
    found = {row["model"]: row for row in ratings_without_bias(scores, resamples=400).iter_rows(named=True)}
    for model, strength in STRENGTHS.items():
        assert found[model]["low"] < 1000 + ELO * strength < found[model]["high"]
    assert found["a"]["shift_high"] < 0


@pytest.mark.parametrize(
    ("judges", "families", "said"),
    [
        ({"j": "x"}, {"a": "x", "b": "y"}, "all verdicts are by judges of one family, x, so that"),
        ({"j": "x", "k": "x"}, {"a": "x", "b": "y"}, "all verdicts are by judges of one family, x, so that"),
        ({"j": "x", "k": "y"}, {"a": "x", "b": "x", "c": "x"}, "all models are of one family, x"),
        ({"j": "x", "k": "y"}, {"a": "z", "b": "z"}, "no judge compared a model of its own family with a model of"),
        ({"j": "x", "k": "y"}, {}, "no comparison says the families of its models (columns family_a, family_b)"),
        ({"j": None}, {"a": "x"}, "no comparison says the family of its judge (column judge_family)"),
    ],
)
def test_self_preference_that_cannot_be_told_has_a_reason(
    judges: dict[str, str | None], families: dict[str, str], said: str
) -> None:
    scores = scored(of_families(6, own=0, judges=judges, **families), judges="pooled")
    [row] = bias(scores, resamples=50).filter(term="self-preference").iter_rows(named=True)
    assert row["value"] is None
    assert row["reason"].startswith(said)


def test_judges_of_other_models_do_not_tell_self_preference() -> None:
    models = {"j": ("a", "b"), "k": ("c", "d")}  # each judge has models of its own, on units of its own
    votes = [
        vote(f"{judge}{unit}", *models[judge], "ab"[unit % 3 > 0], judge=judge, judge_family=judge, family_a=judge)
        for judge, unit in product(models, range(9))
    ]
    [row] = bias(scored(votes, judges="pooled"), resamples=50).filter(term="self-preference").iter_rows(named=True)
    assert "cannot be estimated beside the strengths" in row["reason"]


def test_a_model_and_a_judge_are_of_one_family() -> None:
    votes = of_families(3, own=0, judges={"j": "x"}, a="x", b="y", c="y")
    for given, said in {"family_a": "model 'a' is 'x' and 'z'", "judge_family": "judge 'j' is 'x' and 'z'"}.items():
        odd = vote("late", "a", "b", "a", judge="j", **{**votes[0].model_dump(include=FAMILIES), given: "z"})
        with pytest.raises(MetricInputError, match=f"the family of {said}; it is the same in all rows"):
            scored([*votes, odd])
    with pytest.raises(MetricInputError, match="the family of model 'a' is 'x' and empty"):
        scored([*votes, vote("late", "a", "b", "a", judge="j", family_b="y", judge_family="x")])


def test_orders_are_counted() -> None:
    def both(unit: int, one: str, other: str) -> list[Comparison]:
        return [vote(unit, "a", "b", one, first="a"), vote(unit, "b", "a", other, first="b")]

    votes = [
        *both(1, "a", "a"), *both(2, "b", "b"), *both(3, "tie", "tie"), *both(4, "a", "b"), *both(5, "a", "b"),
        *both(6, "b", "a"), *both(7, "a", "tie"), *both(8, "tie", "b"), vote(9, "a", "b", "a", first="a"),
    ]  # fmt: skip
    found = {row["outcome"]: (row["value"], row["n"]) for row in orders(scored(votes)).iter_rows(named=True)}
    assert found == {
        "same verdict": (3 / 8, 8),
        "first both times": (2 / 8, 8),
        "second both times": (1 / 8, 8),
        "a tie once": (2 / 8, 8),
    }
    assert orders(scored([vote(n, "a", "b", "a" if n else "b") for n in range(4)])).is_empty()


def test_models_are_listed_judge_by_judge() -> None:
    votes = [vote(n, "a", "b", "ab"[n % 3 == 0], judge="j") for n in range(12)]
    votes += [vote(n, "a", "b", "ab"[n % 6 > 0], judge="k") for n in range(12)]
    assert sorted_groups(scored(votes)) == [("a", "j"), ("b", "j"), ("b", "k"), ("a", "k")]


def test_judges_agree_by_the_majority_of_people() -> None:
    verdicts = {  # unit: judge, and three people
        1: ("a", "aab"), 2: ("a", "aaa"), 3: ("b", "bba"), 4: ("b", "aab"), 5: ("tie", "abt"), 6: ("a", "bbt")
    }  # fmt: skip
    sides = {"a": "a", "b": "b", "t": "tie"}
    votes = []
    for unit, (own, people) in verdicts.items():
        votes += [vote(unit, "a", "b", own, judge="model", first=side, repeat=1) for side in "ab"]
        votes += [vote(unit, "a", "b", sides[one], judge=f"human/{n}") for n, one in enumerate(people)]
    [row] = judges(scored(votes, penalty=0.1), resamples=200).iter_rows(named=True)
    assert (row["judge_a"], row["judge_b"], row["n"]) == ("human", "model", 6)
    # They agree on 1, 2, 3 and 5. By chance: a 3/6 * 3/6 + b 2/6 * 2/6 + tie 1/6 * 1/6 = 14/36.
    assert row["value"] == pytest.approx(4 / 6)
    assert row["kappa"] == pytest.approx((4 / 6 - 14 / 36) / (1 - 14 / 36))
    assert row["kappa_low"] <= row["kappa"] <= row["kappa_high"]
    assert judges(scored([vote(n, "a", "b", "ab"[n % 2]) for n in range(4)])).is_empty()


@pytest.mark.filterwarnings("ignore:.*fewer than 30", "ignore:.*these scores add little by themselves")
def test_win_rates_are_corrected_by_people_and_ratings_are_not() -> None:
    votes = load_records("demo", COMPARISON)
    people = score(votes.where(judge="human")).values.select("model", "unit", rating="win_rate").drop_nulls()
    judge = score(votes.where(judge="synthetic/judge-one"))
    found = judge.debias(people.filter(pl.col("unit") <= "q20"), metric="win_rate", resamples=200)
    assert found["corrected"].null_count() == 0
    with pytest.raises(MetricInputError, match="rating"):
        judge.debias(people, metric="rating", resamples=200)


def test_judges_without_common_answers_have_a_reason() -> None:
    votes = [vote(n, "a", "b", "ab"[n % 2], judge="jk"[n > 3]) for n in range(8)]
    [row] = judges(scored(votes)).iter_rows(named=True)
    assert (row["value"], row["reason"]) == (None, "no two answers that both judged")


def test_opponents_are_counted_and_expected() -> None:
    wins = {("a", "b"): "aaab", ("b", "c"): "bbbc", ("a", "c"): "aact"}
    sides = {"t": "tie"}
    votes = [
        vote(f"{a}{b}{n}", *((a, b) if n % 2 else (b, a)), sides.get(won, won))
        for (a, b), winners in wins.items()
        for n, won in enumerate(winners)
    ]
    rows = opponents(scored(votes)).select("model_a", "model_b", "wins", "ties", "losses", "rate", "n").rows()
    assert rows == [("a", "b", 3, 0, 1, 0.75, 4), ("a", "c", 2, 1, 1, 0.625, 4), ("b", "c", 3, 0, 1, 0.75, 4)]
    for options in ({}, {"ties": "davidson"}):
        found = opponents(scored(votes, **options))
        # The most likely strengths expect as many wins of each model as it has.
        surplus = found.filter(model_a="a").select((pl.col("rate") - pl.col("expected")).sum()).item()
        assert surplus == pytest.approx(0, abs=1e-6)
    alone = opponents(scored([vote(n, "a", "b", "a") for n in range(3)]))
    assert alone.select("expected", "reason").row(0) == (None, "one of the two has no rating")


def test_the_pairs_to_judge_next_are_undecided_neighbours() -> None:
    votes = [vote(f"{n}", "a", "b", "ab"[n % 2]) for n in range(40)]
    votes += [vote(f"{n}", "b", "c", "c" if n % 10 == 0 else "b") for n in range(40)]
    [row] = next_pairs(scored(votes)).iter_rows(named=True)
    assert {row["model_a"], row["model_b"]} == {"a", "b"}
    assert row["comparisons"] == 40
    assert row["difference_low"] < 0 < row["difference_high"]
    decided = [vote(f"{n}", "a", "b", "b" if n % 10 == 0 else "a") for n in range(80)]
    assert next_pairs(scored(decided)).is_empty()


def test_a_page_says_what_it_leaves_out() -> None:
    votes = [vote(f"{n}{a}{b}", a, b, (a, b)[(n + i) % 3 == 0]) for n in range(3) for i, (a, b) in enumerate(
        combinations([f"m{k:02}" for k in range(22)], 2)
    )]  # fmt: skip
    page = PageScores(table=scored(votes), analyses=ANALYSES, small_cells=False, options={"resamples": 50})
    found = {one.title: one for one in sections(page, data=None, results=None)}
    assert found["Opponents"].left_out == "231 rows; attune-bench analyze opponents has them"
    assert str(found["Bias of judges"].left_out).endswith(
        "; no comparison says the family of its judge (column judge_family)"
    )
    assert found["Agreement of judges"].left_out == "needs comparisons that name at least two judges"
    assert found["Agreement of the two orders"].left_out == "needs pairs of answers that were judged in both orders"


# A stranger's table.


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = Random(1)
    rows = ["question_id;model_a;model_b;winner;topic"]
    for unit in range(40):
        for a, b in (("m1", "m2"), ("m2", "m3"), ("m1", "m3")):
            won = "tie" if rng.random() < 0.1 else "model_a" if rng.random() < 0.65 else "model_b"
            rows.append(f"q{unit};{a};{b};{won};{'work' if unit % 2 else 'home'}")
    path = tmp_path_factory.mktemp("votes") / "arena.csv"
    path.write_text("\n".join(rows))
    return path


COLUMNS = {"unit": "question_id", "a": "model_a", "b": "model_b"}
MAPPED = ("--columns", ",".join(f"{name}={column}" for name, column in COLUMNS.items()))
Call = Callable[..., tuple[int, str, str]]


def told(call: Call, *arguments: object) -> str:
    """Return what a command prints."""
    status, out, err = call(*arguments)
    assert status == 0, err
    return out


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("compare",), "Difference: A minus B, on the prompts of both."),
        (("rank",), "Ranks by Rating"),
        (("report",), "Comparisons in pairs, protocol Bradley-Terry, ties half, n = 40 prompts"),
        (("subset", "--by", "topic"), "Rating, m1"),
        (("compare", "--by", "topic"), "work: Rating"),
    ],
)
def test_a_table_of_votes_goes_through_the_commands(
    command: tuple[str, ...], said: str, table: Path, call: Call
) -> None:
    name, *options = command
    text = told(call, name, str(table), *MAPPED, *options, "--resamples", "200")
    assert said in text
    assert "EQ-Bench" not in text
    assert "Assumed of the table: separated by semicolons." in " ".join(text.split())


def test_votes_are_scored_with_options_and_analysed(table: Path, call: Call, tmp_path: Path) -> None:
    votes = load_records("demo", COMPARISON)
    votes.to_jsonl(tmp_path / "votes.jsonl")
    target = tmp_path / "scores.parquet"
    said = told(
        call, "score", "--results", str(tmp_path / "votes.jsonl"), "--judges", "pooled", "--output", str(target)
    )
    assert said.startswith(f"{target}: 690 comparisons of 4 models, protocol Bradley-Terry, ties half, judges pooled")
    assert "Agreement of judges" in told(call, "analyze", str(target), "judges", "--resamples", "200")
    checked = told(call, "validate", table, *MAPPED)
    assert checked.startswith("120 comparisons loaded; 0 errors, 0 warnings, 0 notes")
    table.with_suffix(".toml").write_text('title = "Support"\n')
    told(call, "score", "--results", table, *MAPPED, "--output", target)
    assert Scores.read(target).provenance.title == "Support"
    # The columns that the description names need no option, whichever command reads the table.
    named = ", ".join(f'{name} = "{column}"' for name, column in COLUMNS.items())
    table.with_suffix(".toml").write_text(f'title = "Support"\ncolumns = {{{named}}}\n')
    assert told(call, "validate", table).startswith("120 comparisons loaded; 0 errors, 0 warnings, 0 notes")
    told(call, "score", "--results", table, "--output", target)
    assert "Ranks by Rating" in told(call, "rank", table, "--resamples", "50")
    table.with_suffix(".toml").unlink()
    assert Scores.read(target).provenance.title == "Support"
    assert Scores.read(target).values.equals(Scores.from_table(table, columns=COLUMNS).values)
    (tmp_path / "judges.csv").write_text("unit,a,b,winner,judge\nq1,x,y,x,j\nq2,x,y,y,\n")
    status, _, err = call("validate", tmp_path / "judges.csv")
    assert status == 2
    assert "judges.csv:3: judge is empty; every comparison names its judge, or none does" in err
    (tmp_path / "self.csv").write_text("unit,a,b,winner\nq1,x,x,x\nq2,x,y,y\n")
    status, out, _ = call("validate", tmp_path / "self.csv")
    assert status == 1
    assert "2 comparisons loaded; 1 error, 0 warnings, 0 notes" in out
    for command in ("show", "describe"):
        told(call, command, table, *MAPPED)
    status, _, err = call("validate", "demo", *MAPPED)
    assert status == 2
    assert "--columns names the columns of a table, and demo is none" in err


@pytest.mark.filterwarnings("ignore:.*fewer than 30", "ignore:.*these scores add little by themselves")
def test_a_judge_is_corrected_by_a_table_of_peoples_verdicts(call: Call, tmp_path: Path) -> None:
    votes = load_records("demo", COMPARISON)
    judge, people, part = votes.where(judge="synthetic/judge-one"), votes.where(judge="human"), tmp_path / "part.csv"
    judge.to_jsonl(tmp_path / "judge.jsonl")
    frame = pl.DataFrame([one.model_dump(include={"unit", "a", "b", "winner"}) for one in people])
    frame.filter(pl.col("unit") <= "q20").write_csv(part)
    given = ("judge", "correct", tmp_path / "judge.jsonl", "--labels", part, "--resamples", "200", "--format", "json")
    by_command = json.loads(told(call, *given))
    rates = score(people).values.filter(pl.col("unit") <= "q20").select("model", "unit", rating="win_rate")
    found = score(judge).debias(rates.drop_nulls(), metric="win_rate", resamples=200)
    rows = {row["model"]: row["corrected"] for row in by_command["models"]}
    assert rows == pytest.approx(dict(found.select("model", "corrected").iter_rows()))
    pl.concat([frame, frame.with_columns(unit=pl.lit("late")).head(1)]).write_csv(part)
    text = told(call, *given[:-2])
    said = (
        f"2 of {score(people).values['win_rate'].count() + 2} win rates are left out, as no judge judged the model on"
    )
    assert said in " ".join(text.split())
    status, _, err = call(*given, "--metric", "rating")
    assert status == 2
    assert "has comparisons, which give win rates; give --metric win_rate" in err


@pytest.mark.parametrize("given", ["m1", "m1=", "=3", "m1=1,m1=2", "m1=inf"])
def test_anchors_are_given_on_the_command_line(given: str, table: Path, call: Call, tmp_path: Path) -> None:
    target = tmp_path / "scores.parquet"
    score_it = ("score", "--results", str(table), *MAPPED, "--output", str(target), "--anchors")
    assert "anchors m1 1500 and m3 200" in told(call, *score_it, "m1=1500,m3=200")
    status, _, err = call(*score_it, given)
    assert status == 2
    assert f"Invalid value for '--anchors': {given!r}: expected MODEL=RATING, or two models" in err


def test_ratings_of_two_fits_are_on_two_boards(call: Call, tmp_path: Path) -> None:
    votes = load_records("demo", COMPARISON).where(judge="human")
    halves = {"one": {"synthetic/brief", "synthetic/hasty"}, "two": {"synthetic/attentive", "synthetic/thorough"}}
    for name, models in halves.items():
        COMPARISON.collection([one for one in votes if {one.a, one.b} == models]).to_jsonl(tmp_path / f"{name}.jsonl")
    files = [tmp_path / f"{name}.jsonl" for name in halves]
    assert "2 boards" in told(call, "leaderboard", *files, "--output", tmp_path / "site")
    assert "1 board," in told(call, "leaderboard", files[0], "--output", tmp_path / "other")
    load_records("demo", COMPARISON).to_jsonl(tmp_path / "all.jsonl")
    pooled = tmp_path / "pooled.parquet"
    told(call, "score", "--results", tmp_path / "all.jsonl", "--judges", "pooled", "--output", pooled)
    told(call, "leaderboard", tmp_path / "all.jsonl", pooled, "--output", tmp_path / "both")
    page = (tmp_path / "both" / "index.html").read_text(encoding="utf-8")
    assert "<h2>Comparisons in pairs: protocol Bradley-Terry, ties half, judges pooled</h2>" in page


@pytest.mark.slow
def test_a_table_of_votes_becomes_a_page_a_figure_and_a_board(table: Path, call: Call, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    told(call, "report", str(table), *MAPPED, "--html", str(page), "--resamples", "200")
    text = page.read_text(encoding="utf-8")
    assert "Bias of judges" in text
    assert "Comparisons in pairs, scored by the protocol Bradley-Terry, ties half, with attune-bench" in text
    assert "fitted to all prompts together" in text
    told(call, "figure", str(table), *MAPPED, "--output", str(tmp_path / "votes.svg"))
    assert (tmp_path / "votes.svg").stat().st_size > 1000
