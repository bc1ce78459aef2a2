"""Judges of somebody else's benchmark: roles of any name, a server each, scales, and what each judge said."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from commands import Call
from judged_replies import BENCHMARK, CRITERIA, SCALES, TASK, Reply, Settings
from model_server import Json, ModelServer, said

from attune_bench.benchmarks.attunebench.task import AttuneBenchSettings, planned_calls
from attune_bench.runner import Judge, Scale, judge_ratings
from attune_bench.scores.provenance import results_fingerprint
from attune_bench.stats.judges import compare_judges
from attune_data import Conversation, load_records

pytestmark = pytest.mark.usefixtures("elsewhere", "impatient")

WORRIES = [{"id": f"w{number}", "worry": f"I worry, and this is worry {number}."} for number in range(3)]
MODELS = ("--listener-model", "l/one", "l/two", "--judge-model", "j/one")


def answer(body: Json) -> str:
    """Answer as a model, or as a judge: of the second listener one answer cannot be read at first."""
    text = body["messages"][-1]["content"]
    if "Rate the reply" not in text:
        return f"I hear you. {text}"
    if body["model"] == "l/two" and "worry 1" in text and "Only the JSON" not in text:
        return "Rather warm."
    criteria = {
        model: scale.criteria for role, scale in SCALES.items() for model in (f"{role[0]}/one", f"{role[0]}/two")
    }
    given = {"l/one": 3, "l/two": 5, "j/one": 7.5, "j/two": 99}[body["model"]]
    return json.dumps(dict.fromkeys(criteria[body["model"]], given))


@pytest.fixture
def worries(elsewhere: None) -> Path:  # noqa: ARG001 - in whose folder the file is
    path = Path("worries.jsonl")
    path.write_text("".join(f"{json.dumps(worry)}\n" for worry in WORRIES), encoding="utf-8")
    return path


def command(worries: Path, server: ModelServer, *more: Any) -> tuple[Any, ...]:
    where = ("--benchmark", "judged_replies:BENCHMARK", "--base-url", server.url)
    return ("run", "local", "m", worries, *where, *more)


def replies() -> list[Reply]:
    return list(load_records("results", BENCHMARK.results))


def test_each_role_has_its_models_and_its_server(call: Call, worries: Path) -> None:
    with ModelServer(answer=answer) as server, ModelServer(answer=answer) as other:
        given = command(worries, server, *MODELS, "--judge-base-url", other.url)
        status, out, err = call(*given)
        assert (status, err) == (0, "")
        assert out.startswith("results: 3 responses, one concern each\n")
        assert {body["model"] for body in server.bodies} == {"m", "l/one", "l/two"}
        assert {body["model"] for body in other.bodies} == {"j/one"}
        # Three replies, their nine judgements, and one that is asked for again.
        assert server.calls + other.calls == 3 + 9 + 1
        # The same command asks for nothing again; another listener is asked alone.
        assert call(*given)[0] == 0
        assert server.calls + other.calls == 13
        changed = [word if word != "l/two" else "l/one" for word in given if word != "l/one"]
        status, _, err = call(*changed)
        assert status == 2
        assert "listener_model" in err
        assert call(*changed, "--replace")[0] == 0
        assert server.calls + other.calls == 13
    names = {"reply/listener/l/one": "parsed", "reply/judge/j/one": "parsed"}
    assert [{name: one["outcome"] for name, one in reply.calls.items()} for reply in replies()] == [names] * 3


def test_what_each_judge_said_is_kept_scored_and_compared(call: Call, worries: Path) -> None:
    with ModelServer(answer=answer) as server:
        assert call(*command(worries, server, *MODELS))[0] == 0
    second = replies()[1]
    assert second.calls["reply/listener/l/two"]["outcome"] == "retried"
    assert second.by_judge["l/two"] == {"warmth": 5, "presence": 5, "curiosity": 5}
    assert second.means == dict(zip(CRITERIA, [4, 4, 4, 7.5, 7.5], strict=True))
    status, _, err = call(
        "score", "--results", "results", "--data", worries, "--benchmark", "judged_replies:BENCHMARK", "-o", "s.parquet"
    )
    assert (status, err) == (0, "")
    assert pl.read_parquet("s.parquet").select(CRITERIA).unique().rows() == [(4, 4, 4, 7.5, 7.5)]
    rated = judge_ratings((reply.worry_id, reply.by_judge) for reply in replies())
    assert rated.columns == ["item", "rater", "dimension", "rating"]
    expert = rated.filter(rater="l/one").with_columns(rating=pl.col("rating") + pl.Series([0, 1, 0] * 3))
    people = pl.concat([rated, *(expert.with_columns(rater=pl.lit(name)) for name in ("ann", "bea"))])
    compared = compare_judges(people, experts=["ann", "bea"], judges=["l/two"], resamples=100)
    assert set(compared.judges["dimension"]) == set(SCALES["listener"].criteria)


def test_the_cost_of_a_role_is_recorded_and_changes_no_hash(call: Call, worries: Path) -> None:
    with ModelServer(lambda _number, body: said(answer(body), cost=0.25)) as server:
        out = call(*command(worries, server, *MODELS))[1]
    assert "(judge 0.75, listener 1.75)" in out
    made = replies()
    assert [(one.model_extra or {})["judge_cost"] for one in made] == [0.25] * 3
    dearer = [one.model_copy(update={"judge_cost": 9.0}) for one in made]
    assert results_fingerprint(dearer, BENCHMARK.results) == results_fingerprint(made, BENCHMARK.results)


def test_an_estimate_has_the_calls_of_every_role(call: Call, worries: Path) -> None:
    with ModelServer(answer=answer) as server:
        out = call(*command(worries, server, *MODELS, "--dry-run"))[1]
        assert server.calls == 0
    assert [line.partition(":")[0] for line in out.splitlines()[1::2]] == ["m", "l/one", "l/two", "j/one"]


def test_a_server_of_a_role_that_nobody_has_is_an_error(call: Call, worries: Path) -> None:
    with ModelServer(answer=answer) as server:
        given = command(worries, server, "--listener-model", "l/one", "--judge-provider", "local")
        status, _, err = call(*given)
    assert status == 2
    assert "--judge-provider is given but no judge; name one with --judge-model" in err


def test_a_role_that_is_required_is_asked_for(call: Call, worries: Path) -> None:
    with ModelServer(answer=answer) as server:
        status, _, err = call(*command(worries, server))
    assert status == 2
    assert "Judged replies needs --listener-model: Models that judge how a reply listens." in err


def test_an_option_is_that_of_the_benchmark_in_use(call: Call, worries: Path) -> None:
    """AttuneBench has an option of the same name, which takes several values."""
    with ModelServer(answer=answer) as server:
        given = command(worries, server, "--listener-model", "l/one", "--judge-model", "j/one", "j/two")
        status, _, err = call(*given)
    assert status == 2
    assert "unexpected extra argument (j/two)" in err


def test_rejudge_says_how_other_judges_are_asked(call: Call, worries: Path) -> None:
    with ModelServer(answer=answer) as server:
        assert call(*command(worries, server, *MODELS))[0] == 0
        status, _, err = call("rejudge", "results", "--judge-model", "l/one", "--data", worries)
    assert status == 2
    assert err.count("\n") == 1
    assert "rejudge is for run files of AttuneBench, and results contains none" in err
    assert "attune-bench run with other judges asks the judges alone" in err


def test_rejudge_names_a_run_file_that_is_damaged(call: Call) -> None:
    Path("results").mkdir()
    Path("results/run.json").write_text('{"conversationId": 1, "em_model": "m", "turns": "none"}', encoding="utf-8")
    status, _, err = call("rejudge", "results", "--judge-model", "j", "--data", "demo")
    assert status == 2
    assert "no usable run in results" in err


# A scale and its judges.


@pytest.mark.parametrize(
    ("scale", "answered", "read"),
    [
        (Scale(("a", "b"), 1, 5), {"a": 1, "b": 5}, ({"a": 1, "b": 5}, 0)),
        (Scale(("a", "b"), 1, 5), {"a": 0, "b": 5.0}, ({"b": 5.0}, 1)),
        (Scale(("a", "b"), 1, 5), {"a": 2.5, "b": "3", "c": 1}, ({}, 3)),
        (Scale(("a",), 0, 1, whole=False), {"a": 0.25}, ({"a": 0.25}, 0)),
        (Scale(("a",), 0, 1, whole=False), {"a": True}, ({}, 1)),
        (Scale(("a",), 0, 1, whole=False), {"a": float("nan")}, ({}, 1)),
    ],
)
def test_only_ratings_on_the_scale_are_read(scale: Scale, answered: Json, read: tuple[Json, int]) -> None:
    assert scale.read(answered) == read


def test_a_scale_has_criteria_and_two_ends() -> None:
    with pytest.raises(ValueError, match="needs a criterion"):
        Scale((), 1, 5)
    with pytest.raises(ValueError, match="the scale is 5 to 1"):
        Scale(("a",), 5, 1)


def test_an_unreadable_judge_is_asked_again_as_often_as_it_says() -> None:
    judge = Judge(models=("j",), answer=Scale(("a",), 1, 5), tries=3)
    answers: dict[str, str] = {}
    while calls := judge.calls_to_make("x", [{"role": "user", "content": "Rate."}], answers):
        answers |= {one.id: "No." for one in calls}
    assert list(answers) == ["x/judge/j", "x/judge/j#2", "x/judge/j#3"]
    judged = judge.read("x", answers)
    assert (judged.mean, judged.by_model, judged.calls["x/judge/j"]["outcome"]) == ({}, {}, "failed")


def test_settings_name_a_role_only_where_it_has_a_model() -> None:
    assert list(Settings("m").decoding) == ["model"]
    both = Settings("m", listener_model=("a",), judge_model="b", extra_body={"top_p": 0.5})
    assert [role for role, own in both.decoding.items() if own.extra_body] == ["model"]
    assert both.provenance() == Settings("m", extra_body={"top_p": 0.5}).provenance()
    assert list(TASK.recorded(both, None))[-2:] == ["listener_model", "judge_model"]  # type: ignore[arg-type]


def test_judges_of_attunebench_get_the_requests_that_were_paid_for(demo: list[Conversation]) -> None:
    """Another request would have another key in the cache: answers would be paid for again, and files made anew."""
    settings = AttuneBenchSettings("vendor/model", judges=("judge/one", "judge/two"))
    answers = {
        one.id: '{"drafted_response": "I see."}' for one in planned_calls(demo[0], settings) if one.role == "model"
    }
    first = planned_calls(demo[0], settings, answers)
    second = planned_calls(demo[0], settings, answers | {one.id: "No." for one in first})
    sent = [
        [one.id, one.model, one.role, list(map(dict, one.messages)), one.schema, one.schema_name, one.attempt]
        for one in (*first, *second)
        if one.role == "judge"
    ]
    assert len(sent) == 20
    digest = sha256(json.dumps(sent, sort_keys=True).encode()).hexdigest()
    assert digest == "2aca43f855e6934daea1cbe5bdd6d066af72f54073a0211659e171ba18d55e79"
