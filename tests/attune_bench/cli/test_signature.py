"""The command `signature`: what the last line of a text stands for."""

import shlex
from pathlib import Path

import pytest
from commands import QUICK, Call

from attune_bench import Scores
from attune_metrics.signature import short_signature


@pytest.mark.parametrize("command", [("report",), ("compare", "--seed", "7"), ("rank", "--metric", "avg_emotion_f1")])
def test_a_text_has_the_hash_of_what_the_command_prints_whole(
    call: Call, demo_scores: Path, command: tuple[str, ...]
) -> None:
    name, *options = command
    last = call(name, demo_scores, *options, "--format", "table", *QUICK)[1].splitlines()[-1]
    hash_, _, typed = last.partition(" (whole: attune-bench ")
    status, out, err = call(*shlex.split(typed.removesuffix(")")))
    assert (status, err) == (0, "")
    short, whole = out.splitlines()
    assert short == f"signature: {short_signature(whole)}"
    assert hash_ == short
    if name == "report":
        assert whole == Scores.read(demo_scores).sign(metrics=["composite_score"], resamples=200)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("demo",), "demo prints no signature; name one of report, compare, rank, subset, analyze, judge"),
        (("compare", "scores.json", "--format", "csv"), "leave out --format: the signature is the same"),
        (("report", "scores.json", "--html=page.html"), "leave out --html"),
        (("compare", "nowhere.json"), "nowhere.json cannot be read: No such file"),
    ],
)
def test_mistakes_are_one_line(call: Call, arguments: tuple[str, ...], message: str) -> None:
    status, out, err = call("signature", *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err
