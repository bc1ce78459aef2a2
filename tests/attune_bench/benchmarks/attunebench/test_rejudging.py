"""Judging drafts again: the judgements change, and nothing else."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, said
from slow_cases import slow_except

from attune_bench.benchmarks.attunebench.task import AttuneBenchSettings, planned_calls
from attune_bench.runner import calls as providers
from attune_data import Conversation, load, load_codebook, load_runs

Invoke = Callable[..., tuple[int, str, str]]


pytestmark = pytest.mark.usefixtures("elsewhere")


@pytest.mark.slow
def test_rejudging_changes_the_judgements_only(call: Invoke, tmp_path: Path) -> None:
    with ModelServer() as server:
        common = ["--base-url", server.url]
        call("run", "local", "m", "demo", "--limit", 2, "--judge-model", "one", *common)
        sent = server.calls
        again = ["rejudge", "results", "--ground-truth", "demo", "--judge-provider", "local", "--judge-model", "two"]
        status, _, err = call(*again, *common)
        assert (status, err) == (0, "")
        judgements = sum(
            one.role == "judge"
            for c in load("demo")[:2]
            for one in planned_calls(c, AttuneBenchSettings("m", judges=("two",)))
        )
        assert server.calls == sent + judgements
        assert {body["model"] for body in server.bodies[sent:]} == {"two"}
        assert call(*again, *common)[1].startswith("results-rejudged: 2 runs; all from before, nothing was asked\n")
        assert server.calls == sent + judgements
    before, after = load_runs(tmp_path / "results"), load_runs(tmp_path / "results-rejudged")
    assert [one.id for one in before] == [one.id for one in after]
    for old, new in zip(before, after, strict=True):
        contents: list[dict[str, Any]] = [json.loads(one.to_json()) for one in (old, new)]
        for content, judge in zip(contents, ("one", "two"), strict=True):
            assert any(f"/judge/{judge}" in name for name in content["calls"])
            content["calls"] = {name: value for name, value in content["calls"].items() if "/judge/" not in name}
            assert content.pop("judge_models") == [judge]
            content["usage"] = {name: one for name, one in content["usage"].items() if not name.startswith("judge/")}
            for name in ("run_key", "judge_cost", "judge_settings"):
                content.pop(name, None)
            for turn in content["turns"]:
                assert set(turn.pop("em_draft_judge_scores_by_model", {judge})) == {judge}
                for name in ("scores", "binary_assessment"):
                    turn.pop("em_draft_judge_scores" if name == "scores" else f"em_draft_{name}", None)
                turn.pop("em_draft_binary_assessment_by_model", None)
        assert contents[0] == contents[1]


@pytest.mark.parametrize("calls", slow_except([None, 3, ["draft"], {"turn-1/draft": "parsed"}], None))
def test_runs_of_another_runner_are_judged_again(call: Invoke, tmp_path: Path, calls: Any) -> None:
    with ModelServer() as server:
        call("run", "local", "m", "demo", "--limit", 1, "--base-url", server.url)
        (path,) = (tmp_path / "results").glob("[!._]*.json")
        path.write_text(json.dumps({**json.loads(path.read_bytes()), "calls": calls}))
        options = ["--ground-truth", "demo", "--judge-provider", "local", "--judge-model", "two"]
        status, out, err = call("rejudge", "results", *options, "--base-url", server.url)
    assert (status, err) == (0, "")
    assert out.startswith("results-rejudged: 1 run\n")
    assert out.endswith("next: attune-bench score --results results-rejudged --data demo\n")


@pytest.mark.slow
def test_judges_are_asked_in_the_words_of_the_data_set(call: Invoke, tmp_path: Path) -> None:
    names = load_codebook().binary
    book = {name: {"text": f"WORDING {name}", "observer_text": f"OBSERVED {name}"} for name in names}
    (tmp_path / "book.json").write_text(json.dumps({"binary": book}))
    options = ["--ground-truth", "demo", "--judge-provider", "local", "--judge-model", "two", "--codebook", "book.json"]
    with ModelServer() as server:
        call("run", "local", "m", "demo", "--limit", 1, "--base-url", server.url)
        sent = len(server.bodies)
        assert call("rejudge", "results", *options, "--base-url", server.url)[0] == 0
        asked = [body["messages"][-1]["content"] for body in server.bodies[sent:]]
    assert asked
    assert all("OBSERVED B" in request and "acknowledge" not in request.lower() for request in asked)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("here", "named"),
    [
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((".", "."), (".", ".."), (".", "../results"))),
        ("..", "results/."),
    ],
)
def test_judged_again_stands_beside_the_runs(
    here: str, named: str, call: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["--ground-truth", "demo", "--judge-provider", "local", "--judge-model", "two"]
    with ModelServer() as server:
        call("run", "local", "m", "demo", "--limit", 1, "--base-url", server.url)
        inside = tmp_path / "results" / ("below" if named == ".." else "") / here
        inside.mkdir(exist_ok=True)
        monkeypatch.chdir(inside)
        status, _, err = call("rejudge", named, *options, "--base-url", server.url)
    assert (status, err) == (0, "")
    assert len(load_runs(tmp_path / "results-rejudged")) == 1


def test_rejudging_refuses_the_folder_of_the_runs(call: Invoke, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    options = ["--ground-truth", "demo", "--judge-model", "j", "-o", "results"]
    status, _, err = call("rejudge", "results", *options)
    assert status == 2
    assert "would be replaced" in err


@pytest.mark.slow
def test_what_a_judge_leaves_out_is_not_what_another_said(call: Invoke, tmp_path: Path) -> None:
    options = ["--ground-truth", "demo", "--judge-provider", "local", "--judge-model", "two"]
    with ModelServer() as server:
        call("run", "local", "m", "demo", "--limit", 1, "--judge-model", "one", "--base-url", server.url)
    with ModelServer(lambda _number, _body: said("I would rather not.")) as server:
        assert call("rejudge", "results", *options, "--base-url", server.url)[0] == 0
    (run,) = load_runs(tmp_path / "results-rejudged")
    for turn in run.turns:
        assert not [name for name in turn.model_fields_set if name.startswith(("em_draft_judge", "em_draft_binary"))]


@pytest.mark.slow
def test_runs_that_changed_are_judged_again_and_what_cannot_be_is_told(call: Invoke, tmp_path: Path) -> None:
    options = ["--ground-truth", "demo", "--judge-provider", "local", "--judge-model", "two"]
    with ModelServer() as server:
        options += ["--base-url", server.url]
        call("run", "local", "m", "demo", "--limit", 2, "--base-url", server.url)
        assert call("rejudge", "results", *options)[0] == 0
        first, second = sorted((tmp_path / "results").glob("[!._]*.json"))
        content = json.loads(first.read_bytes())
        content["turns"][0]["em_emotion_tags"] = [{"emotion": "Proud", "intensity": 7}]
        first.write_text(json.dumps(content))
        content = json.loads(second.read_bytes())
        content["turns"] = [{**turn, "em_drafted_response": " "} for turn in content["turns"]]
        second.write_text(json.dumps(content))
        sent = server.calls
        status, out, err = call("rejudge", "results", *options)
        assert server.calls == sent, "the drafts are the same"
    assert (status, err) == (0, "attune-bench: 1 run without a draft or a conversation left out\n")
    assert out.startswith("results-rejudged: 1 run\n")
    judged = json.loads((tmp_path / "results-rejudged" / first.name).read_bytes())
    assert judged["turns"][0]["em_emotion_tags"] == [{"emotion": "Proud", "intensity": 7}]


@pytest.mark.slow
def test_the_conversations_are_those_that_the_runs_were_made_of(
    call: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, five_turns: Conversation
) -> None:
    Path("study").mkdir()
    Path("study", "one.json").write_bytes(five_turns.to_json())
    judging = ["--judge-provider", "local", "--judge-model", "two"]
    with ModelServer() as server:
        judging += ["--base-url", server.url]
        call("run", "local", "m", "study", "--base-url", server.url, "--output", "runs")
        Path("moved").mkdir()
        Path("study").rename("moved/study")
        Path("runs").rename("moved/runs")
        monkeypatch.chdir("moved/runs")
        status, out, err = call("rejudge", ".", *judging)
        assert (status, err) == (0, "")
        assert out.splitlines()[-1].endswith(f"--data {tmp_path / 'moved' / 'study'}")
        monkeypatch.chdir(tmp_path)
        assert call("rejudge", "moved/runs-rejudged", *judging)[0] == 0, "what was judged again can be so again"
        note = tmp_path / "moved" / "runs" / ".sources.json"
        assert json.loads(note.read_bytes()) == ["../study"]
        call("run", "local", "m", "demo", "--limit", 1, "--base-url", server.url, "--output", "moved/runs")
        status, _, err = call("rejudge", "moved/runs", *judging)
        assert status == 2
        assert f"runs of 2 sources ({tmp_path / 'moved' / 'study'}, demo); name the conversations" in err
        for useless in ("[", "{}", "[1]"):
            note.write_text(useless)
            status, _, err = call("rejudge", "moved/runs", *judging)
            assert status == 2
            assert "no note of what its runs are of; name the conversations with --data" in err


@pytest.mark.slow
def test_where_nothing_can_be_judged_the_reason_is_told(call: Invoke, tmp_path: Path, five_turns: Conversation) -> None:
    judging = ["--judge-provider", "local", "--judge-model", "two"]
    with ModelServer() as server:
        judging += ["--base-url", server.url]
        call("run", "local", "m", "demo", "--limit", 1, "--base-url", server.url)
        sent = server.calls
        (tmp_path / "other.json").write_bytes(five_turns.model_copy(update={"conversation_id": "other"}).to_json())
        status, _, err = call("rejudge", "results", *judging, "--ground-truth", "other.json")
        assert status == 2
        assert "no run is of any of these conversations; are they of the same data set?" in err
        (path,) = (tmp_path / "results").glob("[!._]*.json")
        content = json.loads(path.read_bytes())
        path.write_text(json.dumps({**content, "turns": []}))
        status, _, err = call("rejudge", "results", *judging)
        assert status == 2
        assert "no run of these conversations has a draft to judge" in err
        assert server.calls == sent


# The server of the judges.


JUDGING = ("rejudge", "results", "--judge-model", "two")


def of_the_test(*options: object) -> tuple[object, ...]:
    return ("run", "local", "m", "demo", "--limit", 1, *options)


@pytest.mark.slow
def test_judges_are_served_where_the_run_noted(call: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_API_KEY", "key-of-mine-0123")
    with ModelServer() as server, ModelServer() as other:
        url = server.url.replace("//", "//me:secret-1@") + "?token=secret-2"
        assert call(*of_the_test("--base-url", url))[0] == 0
        note = (tmp_path / "results" / ".servers.json").read_text()
        assert json.loads(note) == {"openai-compatible": server.url}
        sent = server.calls
        status, _, err = call(*JUDGING)
        said = f"attune-bench: the judges are served by openai-compatible at {server.url}, as results notes\n"
        assert (status, err) == (0, said)
        assert server.calls > sent
        assert b"Bearer key-of-mine-0123" in server.headers, "the key is that of the environment"
        # What is given wins, and what is made again says where.
        sent = server.calls
        assert call(*JUDGING, "--base-url", other.url, "-o", "elsewhere", "--seed", 1)[0] == 0
        assert call(*JUDGING, "--judge-provider", "local", "--base-url", other.url, "-o", "again", "--seed", 2)[0] == 0
        assert (server.calls, {body["seed"] for body in other.bodies}) == (sent, {1, 2})
        assert call("rejudge", "elsewhere", "--judge-model", "three", "--judge-provider", "local")[0] == 0
        assert other.bodies[-1]["model"] == "three"
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not [secret for secret in (b"secret-1", b"secret-2", b"key-of-mine") if any(secret in one for one in files)]


@pytest.mark.slow
def test_judges_of_the_run_are_noted_before_its_model(call: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "key-of-mine")
    with ModelServer() as server, ModelServer() as judges:
        monkeypatch.setitem(providers._URLS, "openrouter", judges.url)
        assert (
            call(*of_the_test("--base-url", server.url, "--judge-model", "j", "--judge-provider", "openrouter"))[0] == 0
        )
        sent = server.calls
        status, _, err = call(*JUDGING)
        assert (status, f"served by openrouter at {judges.url}, as results notes" in err) == (0, True)
        assert (server.calls, judges.bodies[-1]["model"]) == (sent, "two")


@pytest.mark.slow
@pytest.mark.parametrize(
    "note", slow_except([None, "[", "[1]", "3", "{}", f'{{"a": {"[" * 9_999}', f"{{{'[],' * 200_000}"], None, "[")
)
def test_without_a_note_of_the_server_it_is_openrouter(note: str | None, call: Invoke, tmp_path: Path) -> None:
    with ModelServer() as server:
        call(*of_the_test("--base-url", server.url))
        path = tmp_path / "results" / ".servers.json"
        path.unlink()
        if note is not None:
            path.write_text(note)
        sent = server.calls
        assert call(*JUDGING)[::2] == (2, "attune-bench: no key for openrouter: set OPENROUTER_API_KEY\n")
        assert server.calls == sent


@pytest.mark.slow
def test_runs_of_two_providers_need_a_name_and_a_server_that_has_moved_does_not(call: Invoke, tmp_path: Path) -> None:
    with ModelServer() as server, ModelServer() as moved:
        call(*of_the_test("--base-url", server.url))
        call(*of_the_test("--base-url", moved.url))
        status, _, err = call(*JUDGING)
        assert (status, f"served by openai-compatible at {moved.url}" in err) == (0, True)
        note = tmp_path / "results" / ".servers.json"
        note.write_text(json.dumps({"openai-compatible": moved.url, "prime": "https://example.org/v1"}))
        sent = moved.calls
        status, _, err = call(*JUDGING, "--seed", 3)
        assert (status, moved.calls) == (2, sent)
        said = f"runs of 2 providers (openai-compatible at {moved.url}, prime at https://example.org/v1)"
        assert f"{said}; name one with --judge-provider" in err


def test_a_key_is_sent_to_no_server_that_a_folder_names(
    call: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer() as server:
        call(*of_the_test("--base-url", server.url))
    url = "http://collector.invalid/v1"
    (tmp_path / "results" / ".servers.json").write_text(json.dumps({"openai-compatible": url}))
    monkeypatch.setenv("OPENAI_COMPATIBLE_API_KEY", "key-of-mine")
    said = f"attune-bench: results names the server {url}; to send it a key, give it with --base-url\n"
    assert call(*JUDGING)[::2] == (2, said)
