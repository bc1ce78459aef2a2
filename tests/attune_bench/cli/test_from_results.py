"""`report` and `compare` score results by themselves, and say what `score` and a file of scores would."""

from pathlib import Path

import pytest
from commands import QUICK, Call, Scored, Scorings, without_call

from attune_data import load_runs

pytestmark = pytest.mark.usefixtures("elsewhere")


def of(scored: Scored) -> list[str]:
    return ["--results", scored.results, *(["--data", scored.data] if scored.data else [])]


@pytest.mark.parametrize("name", ["attunebench", "eibench", "sage", "emobench", "eqbench"])
def test_results_say_what_their_scores_say(name: str, call: Call, scored: Scorings) -> None:
    for command in ("report", "compare"):
        after = call(command, scored(name).scores, *QUICK)
        status, out, err = call(command, *of(scored(name)), *QUICK)
        assert (status, without_call(out)) == (0, without_call(after[1]))
        assert err == "" or "see: attune-bench validate" in err
    assert list(Path().iterdir()) == []


@pytest.mark.slow
def test_the_page_of_results_is_the_page_of_their_scores(call: Call, conversations: Scored) -> None:
    for page, given in (("of-scores.html", [conversations.scores]), ("of-results.html", [])):
        status, out, err = call("report", *given, *of(conversations), "--small-cells", "--html", page, *QUICK)
        assert (status, err) == (0, "")
        assert out.startswith(page)
        assert "alone" not in out
    assert Path("of-scores.html").read_bytes() == Path("of-results.html").read_bytes()


def test_a_comparison_by_a_trait_of_the_data(call: Call, conversations: Scored) -> None:
    asked = ("--by", "category", *QUICK)
    from_scores = call("compare", conversations.scores, "--data", conversations.data, *asked)
    assert from_scores[0] == 0
    status, out, err = call("compare", *of(conversations), *asked)
    assert (status, without_call(out), err) == (0, without_call(from_scores[1]), from_scores[2])


def test_issues_of_results_are_named(call: Call) -> None:
    Path("runs").mkdir()
    Path("runs", "broken.json").write_text("{", encoding="utf-8")
    status, out, err = call("report", "--results", "demo", "runs", "--data", "demo", *QUICK)
    assert status == 0
    assert (
        err
        == "attune-bench: 1 error and 0 warnings in the files; see: attune-bench validate demo --results demo runs\n"
    )
    assert "synthetic/attentive" in out


@pytest.mark.slow
def test_one_model_alone_is_told_of_baselines(call: Call) -> None:
    load_runs("demo").where(em_model="synthetic/hasty").to_jsonl("one.jsonl")
    asked = ("report", "--results", "one.jsonl", "--data", "demo", "--html", "page.html", *QUICK)
    status, out, _ = call(*asked)
    assert (status, "--baselines adds models to compare it with" in out) == (0, True)
    status, out, _ = call(*asked, "--baselines")
    assert (status, "--baselines" in out) == (0, False)
    assert "baseline/prior" in Path("page.html").read_text(encoding="utf-8")
    status, out, _ = call("compare", "--results", "one.jsonl", "--data", "demo", "--baselines", *QUICK)
    assert status == 0
    assert "of 6 pairs" in out
