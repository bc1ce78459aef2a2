"""Models whose runs differ in settings that change answers are compared only if asked; every output then says so."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from commands import Call
from pages import text_of
from slow_cases import slow_after, slow_except

from attune_bench import Scores, score
from attune_bench.analyses.models import condition_differences, win_rates
from attune_bench.analyses.separation import separation
from attune_bench.analyses.skills import skills
from attune_bench.benchmarks.attunebench.baselines import prior
from attune_bench.scores.provenance import group_settings, setting_text
from attune_bench.stats.comparability import MixedSettingsError, differences, settings_mark
from attune_bench.stats.rank import ratings
from attune_data import Run, load, load_runs
from attune_metrics.signature import Signature

OURS: dict[str, Any] = {
    "prompt_version": "v2",
    "prompt_hash": "ab" * 32,
    "codebook_hash": "cd" * 32,
    "panas_strategy": "absolute",
    "temperature": 0.0,
    "answer_format": "schema",
    "provider": "openai",
}
CONVERSATIONS = load("demo")
N = 6
ATTENTIVE = [
    run.model_dump(by_alias=True, exclude_unset=True)
    for run in load_runs("demo")
    if run.em_model == "synthetic/attentive"
][:N]
JUDGED = ("avg_draft_judge_score", "avg_draft_binary_alignment")


def runs(**settings: dict[str, Any] | None) -> list[Run]:
    """Return the demo's runs of one model under other names, with these settings; None for none."""
    return [
        Run.model_validate({**content, "em_model": f"vendor/{name}", **(own or {})})
        for name, own in settings.items()
        for content in ATTENTIVE
    ]


def judged(run: Run, judge: str) -> Run:
    """Return a run whose drafts one judge rated; without a name, nobody."""
    content = run.model_dump(by_alias=True, exclude_unset=True)
    for turn in content["turns"]:
        ratings = {"overall_score": 5}
        for name in ("em_draft_judge_scores", "em_draft_binary_assessment"):
            turn.pop(name, None)
        if judge:
            turn |= {"em_draft_judge_scores": ratings, "em_draft_judge_scores_by_model": {judge: ratings}}
    return Run.model_validate(content)


def scored(given: Sequence[Run]) -> Scores:
    return score(CONVERSATIONS, given)


@cache
def differing(name: str, value: Any) -> Scores:
    """Return scores of two models that differ in one setting."""
    return scored(runs(a=OURS, b=OURS | {name: value}))


VERBS: dict[str, Callable[[Scores], Any]] = {
    "compare": lambda scores: scores.compare("vendor/a", "vendor/b", resamples=50),
    "compare_all": lambda scores: scores.compare_all(resamples=50),
    "rank": lambda scores: scores.rank(resamples=50),
    "report": lambda scores: scores.report(resamples=50),
}


@pytest.mark.parametrize("verb", slow_after(2, VERBS))
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("prompt_version", "custom", "version of the prompts v2 (of vendor/a), custom (of vendor/b)"),
        ("temperature", None, "temperature 0 (of vendor/a), of the server (of vendor/b)"),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ("prompt_hash", "ef" * 32, "prompts abababababab (of vendor/a), efefefefefef (of vendor/b)"),
                ("codebook_hash", "ef" * 32, "codebook cdcdcdcdcdcd (of vendor/a), efefefefefef (of vendor/b)"),
                ("panas_strategy", "delta", "PANAS strategy absolute (of vendor/a), delta (of vendor/b)"),
                ("temperature", 0.7, "temperature 0 (of vendor/a), 0.7 (of vendor/b)"),
                ("answer_format", "free", "answer format schema (of vendor/a), free (of vendor/b)"),
                ("reasoning_effort", "high", "reasoning effort not sent (of vendor/a), high (of vendor/b)"),
                ("max_tokens", None, "limit of tokens sent (of vendor/a), of the server (of vendor/b)"),
            )
        ),
    ],
)
def test_a_difference_is_refused_and_named(verb: str, name: str, value: Any, said: str) -> None:
    scores = differing(name, value)
    with pytest.raises(MixedSettingsError) as raised:
        VERBS[verb](scores)
    assert said in str(raised.value)
    assert "--allow-mixed" in str(raised.value)
    VERBS[verb](scores.allow_mixed())


@pytest.mark.slow
def test_further_parameters_differ_in_any_value_and_not_in_their_order() -> None:
    one, same, other = {"top_p": 0.9, "min_p": 0.1}, {"min_p": 0.1, "top_p": 0.9}, {"top_p": 0.8, "min_p": 0.1}
    assert not differences(scored(runs(a=OURS | {"extra_body": one}, b=OURS | {"extra_body": same})))
    scores = scored(runs(a=OURS | {"extra_body": one}, b=OURS | {"extra_body": other}, c=OURS))
    assert differences(scores) == {
        "extra body": {
            '{"min_p": 0.1, "top_p": 0.9}': ["vendor/a"],
            '{"min_p": 0.1, "top_p": 0.8}': ["vendor/b"],
            "not sent": ["vendor/c"],
        }
    }
    assert '"top_p": 0.8' in text_of(scores.allow_mixed().report(format="html", resamples=50))


def test_a_setting_that_no_run_of_a_pair_has_is_none_of_the_pair() -> None:
    plain = scored(runs(a=OURS, b=OURS))
    scores = scored(runs(a=OURS, b=OURS, c=OURS | {"reasoning_effort": "low"}))
    [mark, beside] = (settings_mark(one, ["composite_score"], groups=plain.groups) for one in (plain, scores))
    assert mark == beside != settings_mark(scores, ["composite_score"])
    assert scores.compare("vendor/a", "vendor/b", resamples=50).height > 0


def test_runs_of_one_model_with_and_without_are_mixed() -> None:
    both = runs(a=OURS, b=OURS | {"reasoning_effort": "low"})
    scores = scored([*both[: N // 2], *(run.model_copy(update={"em_model": "vendor/a"}) for run in both[N + N // 2 :])])
    assert differences(scores) == {"reasoning effort": {"low": ["vendor/a"], "not sent": ["vendor/a"]}}


def test_judges_that_were_asked_alone_are_told_with_what_they_were_sent() -> None:
    given = [judged(run, "j") for run in runs(a=OURS, b=OURS)]
    asked = {"reasoning_effort": "low", "extra_body": {"top_p": 0.9}}
    rejudged = [
        run.model_copy(update={"judge_settings": asked}) if run.em_model == "vendor/b" else run for run in given
    ]
    found = differences(scored(rejudged), metrics=JUDGED)
    assert [*found.values()] == [
        {"j": ["vendor/a"], 'j (reasoning effort low, extra body {"top_p": 0.9})': ["vendor/b"]}
    ]


def test_a_page_is_refused_too() -> None:
    scores = scored(runs(a=OURS, b=OURS | {"temperature": 0.7}))
    with pytest.raises(MixedSettingsError, match="temperature 0 "):
        scores.report(format="html", resamples=50)


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"a": OURS, "b": OURS}, marks=pytest.mark.slow),
        {"a": OURS, "b": OURS | {"provider": "prime", "seed": 3, "max_tokens": 9}},
        pytest.param({"a": OURS | {"temperature": 0}, "b": OURS}, marks=pytest.mark.slow),
        pytest.param({"a": None, "b": None}, marks=pytest.mark.slow),
    ],
    ids=["the same", "what changes no answer", "0 and 0.0", "nothing recorded"],
)
def test_what_agrees_is_compared(given: dict[str, Any]) -> None:
    scores = scored(runs(**given))
    for verb in VERBS.values():
        verb(scores)
    assert "MIXED" not in scores.allow_mixed().report(resamples=50)


def test_what_records_nothing_is_compared_with_ours_only_where_asked() -> None:
    scores = scored(runs(a=OURS, b=None))
    said = (
        "version of the prompts, prompts, codebook, temperature, answer format recorded (of vendor/a), not recorded "
        "(of vendor/b)"
    )
    with pytest.raises(MixedSettingsError) as raised:
        scores.compare_all(resamples=50)
    assert said in str(raised.value)
    assert scores.allow_mixed().compare_all(resamples=50).height > 0


def test_one_model_with_two_settings_is_mixed() -> None:
    both = runs(a=OURS, b=OURS | {"prompt_hash": "ef" * 32})
    of_one = [*both[: N // 2], *(run.model_copy(update={"em_model": "vendor/a"}) for run in both[N + N // 2 :])]
    scores = scored(of_one)
    assert scores.models == ("vendor/a",)
    assert differences(scores) == {"prompts": {"abababababab": ["vendor/a"], "efefefefefef": ["vendor/a"]}}
    with pytest.raises(MixedSettingsError):
        scores.report(resamples=50)


def test_a_pair_is_compared_whatever_the_others_are() -> None:
    scores = scored(runs(a=OURS, b=OURS, c=OURS | {"temperature": 1.0}))
    assert scores.compare("vendor/a", "vendor/b", resamples=50).height > 0
    with pytest.raises(MixedSettingsError):
        scores.compare("vendor/a", "vendor/c", resamples=50)


def test_people_and_baselines_are_compared_with_anything() -> None:
    person = [run.model_copy(update={"em_model": "human/ann"}) for run in runs(x=None)]
    baseline = list(prior(CONVERSATIONS))[:N]
    scores = scored([*runs(a=OURS, b=OURS), *person, *baseline])
    assert differences(scores) == {}
    assert scores.rank(resamples=50)["model"].len() == 4
    assert {one.model for one in scores.provenance.settings} == {"vendor/a", "vendor/b"}
    assert Signature.parse(scores.sign(resamples=50)).settings is not None
    assert Signature.parse(scored(baseline).sign(resamples=50)).settings is None


def test_judges_count_for_the_metrics_that_rest_on_them() -> None:
    ours = runs(a=OURS, b=OURS)
    scores = scored([judged(run, "judge/one" if run.em_model == "vendor/a" else "judge/two") for run in ours])
    assert list(differences(scores)) == ["judges (for Draft judge score, Draft binary alignment)"]
    assert differences(scores, metrics=["composite_score", "avg_emotion_f1"]) == {}
    for name in JUDGED:
        assert scores.metrics[name].depends_on == ("judges",)
    with pytest.raises(
        MixedSettingsError, match=r"judges .for Draft judge score. judge/one \(of vendor/a\), judge/two \(of vendor/b\)"
    ):
        scores.compare_all(metrics=["avg_draft_judge_score"], resamples=50)
    assert scores.compare_all(metrics=["composite_score"], resamples=50).height == 1
    marks = [Signature.parse(scores.sign(metrics=[name])).settings for name in ("composite_score", JUDGED[0])]
    assert [str(mark).partition(".")[0] for mark in marks] == ["v2", "mixed"]
    # A model without judgements has nothing to compare, and so nothing that differs.
    halves = [judged(run, "judge/one" if run.em_model == "vendor/a" else "") for run in ours]
    assert differences(scored(halves)) == {}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("prompt_hash", "99" * 32, "prompts 999999999999"),
        ("codebook_hash", "99" * 32, "codebook 999999999999"),
        ("temperature", 1.5, "temperature 1.5"),
        ("temperature", None, "temperature of the server"),
        ("answer_format", "free", "answer format free"),
    ],
)
def test_judges_that_were_asked_in_another_way_are_others(name: str, value: Any, said: str) -> None:
    ours = [judged(run, "judge/one") for run in runs(a=OURS, b=OURS)]
    shared = {key: OURS[key] for key in ("prompt_hash", "codebook_hash", "temperature", "answer_format")}
    for place, run in enumerate(ours):
        again = {"judge_settings": shared | ({name: value} if place >= N else {})}
        ours[place] = Run.model_validate(run.model_dump(by_alias=True, exclude_unset=True) | again)
    assert list(differences(scored(ours)).values()) == [
        {"judge/one": ["vendor/a"], f"judge/one ({said})": ["vendor/b"]}
    ]


@pytest.mark.parametrize("listed", [True, False], ids=["judges listed", "judges not listed"])
def test_a_judge_that_failed_once_was_asked_all_the_same(listed: bool) -> None:
    ours = [judged(run, "judge/one") for run in runs(a=OURS, b=OURS)]
    for place, run in enumerate(ours):
        content = run.model_dump(by_alias=True, exclude_unset=True)
        content |= {"judge_models": ["judge/one", "judge/two"]} if listed else {}
        for turn in content["turns"]:
            answered = turn["em_draft_judge_scores_by_model"]
            if place != 3:
                answered["judge/two"] = answered["judge/one"]
        ours[place] = Run.model_validate(content)
    scores = scored(ours)
    assert differences(scores) == {}
    assert scores.provenance.settings[0].settings["judges"] == ("judge/one + judge/two",)


def two_modes(**changed: Any) -> list[Run]:
    """Return runs of two models in two modes, of which the second has other settings."""
    ours = runs(a=OURS, b=OURS)
    others = [Run.model_validate(run.model_dump(by_alias=True) | {"mode": "verbose"} | changed) for run in ours]
    return [*ours, *others]


@pytest.mark.slow
def test_modes_are_compared_only_where_an_output_sets_them_side_by_side() -> None:
    scores = scored(two_modes(prompt_hash="ef" * 32))
    assert scores.compare_all(resamples=50).height > 0
    assert scores.rank(resamples=50).height == 4
    for refused in (scores.report, lambda: condition_differences(scores, resamples=50)):
        with pytest.raises(MixedSettingsError) as raised:
            refused()
        assert "abababababab (of vendor/a [default], vendor/b [default]), efefefefefef (of" in str(raised.value)


@pytest.mark.parametrize("analysis", [win_rates, ratings, separation, skills])
def test_analyses_that_set_models_side_by_side_refuse(analysis: Callable[..., pl.DataFrame]) -> None:
    scores = scored(runs(a=OURS, b=OURS | {"temperature": 0.7}))
    with pytest.raises(MixedSettingsError, match="temperature"):
        analysis(scores, resamples=50)
    assert isinstance(analysis(scores.allow_mixed(), resamples=50), pl.DataFrame)


@pytest.mark.slow
def test_the_mark_is_of_what_is_there() -> None:
    scores = scored(runs(a=OURS, b=OURS, c=OURS | {"temperature": 1.0})).allow_mixed()
    assert scores.allow_mixed().report(resamples=50) == scores.report(resamples=50)
    assert scores.report(resamples=50).count("MIXED") == 1
    part = scores.keep(groups=[("vendor/a", "default"), ("vendor/b", "default")])
    assert "MIXED" not in part.report(resamples=50)
    of_two = Signature.parse(scores.sign(models=["vendor/a", "vendor/b"])).settings
    assert of_two == Signature.parse(part.sign()).settings
    assert str(of_two).startswith("v2.")


def test_settings_are_shown_whole() -> None:
    assert [setting_text(value) for value in (20261122, 20261123, 0.1234567, 0.0, 1e-07)] == [
        "20261122",
        "20261123",
        "0.1234567",
        "0",
        "1e-07",
    ]


def test_scores_whose_metrics_all_rest_on_a_setting_are_signed() -> None:
    frame = pl.DataFrame({"model": ["a", "b"], "unit": ["q", "q"], "metric": ["hit"] * 2, "value": [1.0, 0.0]})
    table = Scores.from_table(frame, metrics={"hit": {"depends_on": ["judges"]}})
    about = {"comparability_keys": {"judges": "judges"}, "settings": group_settings([("a", None, {"judges": "j"})])}
    scores = replace(table, provenance=table.provenance.model_copy(update=about))
    assert str(Signature.parse(scores.sign(resamples=50)).settings).startswith("mixed.")


def test_an_incomplete_run_has_no_strategy_to_differ_in() -> None:
    without = {name: value for name, value in OURS.items() if name != "panas_strategy"}
    ours = runs(a=without, b=without)
    ours[N:] = [run.model_copy(update={"post_conversation": None}) for run in ours[N:]]
    assert differences(scored(ours)) == {}


@pytest.mark.parametrize("name", ["scores.json", "scores.parquet"])
def test_settings_are_written_and_read(tmp_path: Path, name: str) -> None:
    scores = scored(runs(a=OURS, b=OURS | {"prompt_version": "custom"}))
    scores.write(tmp_path / name)
    read = Scores.read(tmp_path / name)
    assert read.provenance.settings == scores.provenance.settings
    assert differences(read) == differences(scores) != {}


def test_scores_without_settings_are_one_unknown_setting(tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    scored(runs(a=OURS, b=OURS | {"prompt_version": "custom"})).write(path)
    content = json.loads(path.read_bytes())
    del content["metadata"]["settings"]
    path.write_text(json.dumps(content))
    assert differences(Scores.read(path)) == {}
    frame = pl.DataFrame({"model": ["a", "b"], "unit": ["q", "q"], "metric": ["hit"] * 2, "value": [1.0, 0.0]})
    table = Scores.from_table(frame)
    assert differences(table) == {}
    assert Signature.parse(table.sign(resamples=50)).settings is None


def test_a_signature_names_the_settings() -> None:
    same, other = scored(runs(a=OURS, b=OURS)), scored(runs(a=OURS, b=OURS | {"temperature": 0.7}))
    of_same, of_other = (Signature.parse(one.sign()).settings for one in (same, other))
    assert str(of_same).startswith("v2.")
    assert str(of_other).startswith("mixed.")
    alone = Signature.parse(scored(runs(a=OURS)).sign()).settings
    assert alone == of_same, "the settings, not how many models have them"
    assert str(Signature.parse(scored(runs(a=None)).sign()).settings).startswith("unknown.")


@pytest.mark.slow
@pytest.mark.parametrize("verb", slow_except(["compare", "rank", "report"], "report"))
def test_every_output_of_mixed_runs_says_so(call: Call, tmp_path: Path, verb: str) -> None:
    path = tmp_path / "scores.json"
    differing("prompt_hash", "ef" * 32).write(path)
    command = (verb, "--scores", path, "--resamples", 50)
    status, out, err = call(*command)
    assert (status, out) == (2, "")
    assert "prompts abababababab (of vendor/a), efefefefefef (of vendor/b)" in err
    for format_ in ("table", "markdown", "json", "csv"):
        status, out, err = call(*command, "--allow-mixed", "--format", format_)
        assert status == 0
        assert "MIXED" not in err, "said in the output itself"
        # A text has the hash of its signature.
        whole = call("signature", *command, "--allow-mixed")[1] if format_ == "table" else out
        assert "settings:mixed." in whole
        if format_ != "csv":
            assert "MIXED: the runs differ in settings that change answers" in " ".join(out.split())
        if format_ == "json":
            about = json.loads(out)["metadata"]
            assert about["mixed"] is True
            assert about["settings"][1]["settings"]["prompt_hash"] == ["ef" * 32]


@pytest.mark.slow
def test_a_page_of_mixed_runs_says_so(call: Call, tmp_path: Path) -> None:
    path, page = tmp_path / "scores.json", tmp_path / "page.html"
    differing("prompt_hash", "ef" * 32).write(path)
    assert call("report", "--scores", path, "--html", page, "--resamples", 50)[0] == 2
    assert not page.exists()
    assert call("report", "--scores", path, "--html", page, "--resamples", 50, "--allow-mixed")[0] == 0
    text = text_of(page.read_text())
    assert "MIXED: the runs differ in settings that change answers." in text
    assert "settings:mixed." in text
    assert "abababababab" in text
    assert "efefefefefef" in text


def test_analyses_of_mixed_runs_are_refused(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    differing("prompt_hash", "ef" * 32).write(path)
    command = ("analyze", "win_rates", "--scores", path, "--resamples", 50)
    assert call(*command)[0] == 2
    status, out, _ = call(*command, "--allow-mixed")
    assert status == 0
    assert "MIXED" in out


@pytest.mark.slow
def test_the_demo_can_be_compared() -> None:
    assert differences(scored(load_runs("demo"))) == {}
