"""The commands that ask models, as a user calls them; rejudging, profiles and the summary of scores."""

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, answer_to, said

from attune_bench import Scores
from attune_bench.runner import Settings, planned_calls
from attune_bench.runner._console import shown
from attune_bench.runner.journal import Answer
from attune_bench.runner.meter import Meter
from attune_bench.runner.profile_scores import TraitScore, score_profiles
from attune_bench.runner.profiling import LISTS, SCORES, ProfilePrediction
from attune_bench.summary import summary
from attune_data import Conversation, load, load_codebook, load_runs

Invoke = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENROUTER_API_KEY", "OPENAI_API_KEY", "LOCAL_API_KEY"):
        monkeypatch.delenv(name, raising=False)


# run


def test_run_writes_files_that_score_reads(call: Invoke, tmp_path: Path) -> None:
    with ModelServer() as server:
        status, out, err = call("run", "local", "vendor/model", "demo", "--base-url", server.url, "--limit", 2)
        assert (status, err) == (0, "")
    assert out.splitlines()[0] == "results: 2 files"
    assert out.splitlines()[-1] == "next: attune-bench score --results results --ground-truth demo"
    status, out, _ = call("score", "--results", "results", "--ground-truth", "demo")
    assert status == 0
    assert "2 runs of 1 model and mode" in out
    assert {one.em_model for one in load_runs(tmp_path / "results")} == {"vendor/model"}


def test_the_next_command_can_be_pasted(call: Invoke) -> None:
    options = ("--limit", 1, "--output", "my results")
    with ModelServer() as server:
        _, out, _ = call("run", "local", "m", "demo", "--base-url", server.url, *options)
    pasted = shlex.split(out.splitlines()[-1].removeprefix("next: attune-bench "))
    assert pasted == ["score", "--results", "my results", "--ground-truth", "demo"]
    assert call(*pasted)[0] == 0


def test_a_run_with_other_settings_says_what_it_replaced(call: Invoke) -> None:
    with ModelServer() as server:
        command = ["run", "local", "m", "demo", "--base-url", server.url]
        assert call(*command, "--limit", 1)[2] == ""
        _, out, err = call(*command, "--limit", 2, "--seed", 7)
        assert out.splitlines()[0] == "results: 2 files"
        assert "1 of them took the place of results of other settings" in err
        calls = server.calls
        assert "1 of them took the place" in call(*command, "--limit", 1)[2], "also where the journal has the answers"
        assert server.calls == calls
        assert call(*command, "--limit", 1)[2] == ""


def test_answers_that_cannot_be_read_are_counted_at_the_end(call: Invoke, five_turns: Conversation) -> None:
    short = [five_turns.model_copy(update={"conversation_id": str(n), "turns": five_turns.turns[:1]}) for n in (1, 2)]
    Path("data").mkdir()
    for conversation in short:
        Path("data", f"{conversation.id}.json").write_bytes(conversation.to_json())

    def silent(number: int, body: dict[str, Any]) -> bytes:
        asked = body["messages"][-1]["content"]
        unreadable = "## The whole conversation" in asked or ("what the HP felt" in asked and number < 20)
        return said("Who knows?" if unreadable else answer_to(body))

    with ModelServer(silent) as server:
        command = ["run", "local", "m", "data", "--base-url", server.url, "--concurrency", 1]
        status, out, err = call(*command)
        assert (status, err) == (0, "")
        # Of each conversation the feelings of the turn and the whole: 2 x 2, each of them asked for twice.
        assert server.calls == 2 * (5 + 2)
        line = "4 answers in 2 conversations could not be read and are missing, see calls in the files"
        assert line in out.splitlines()
        assert line in call(*command)[1].splitlines(), "those of an earlier run count too"
        assert server.calls == 2 * (5 + 2)


def test_a_dry_run_sends_nothing_and_counts_as_the_run(call: Invoke, five_turns: Conversation, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_bytes(five_turns.to_json())
    (tmp_path / "prices.toml").write_text("[m]\ninput = 1.0\noutput = 2.0\n")
    common = ["--judge-model", "j", "--modes", "default", "verbose"]
    with ModelServer() as server:
        status, out, _ = call("run", "local", "m", "one.json", "--dry-run", "--prices", "prices.toml", *common)
        assert (status, server.calls) == (0, 0)
        assert out.startswith("1 conversation in 2 modes: 52 calls")
        assert "m: 42 calls, about" in out
        assert "j: 10 calls, about" in out
        assert "cost: about" in out
        assert "cost: not known" in out
        assert not (tmp_path / "results").exists()
        call("run", "local", "m", "one.json", "--base-url", server.url, *common)
        assert server.calls == 52


def test_all_modes(call: Invoke) -> None:
    _, out, _ = call("run", "local", "m", "demo", "--dry-run", "--modes", "all", "--limit", 1)
    assert "in 4 modes" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["local", "m", "demo"], "local needs the URL of its server"),
        (["openrouter", "m", "demo"], "there is no key for openrouter: set OPENROUTER_API_KEY"),
        (["openai", "m", "demo", "--base-url", "http://h/v1"], "openai has a URL of its own"),
        (["local", "m", "demo", "--base-url", "http://h/v1", "--judge-provider", "openai"], "no judge; name one"),
        (["local", "m", "demo", "--limit", "0"], "--limit is 0"),
        (["local", "m", "demo", "--concurrency", "0"], "concurrency is 0"),
        (["local", "m", "demo", "--call-timeout", "nan"], "call_timeout is nan"),
        (["local", "m", "demo", "--judge-model", "j", "j"], "a judge is named twice"),
        (["local", "m", "demo", "--base-url", ""], "local needs the URL"),
        (["local", "m", "demo", "--temperature", "nan"], "temperature is nan"),
        (["local", "m", "demo", "--prices", "none.toml"], "none.toml: cannot be read"),
        (["local", "m", "demo", "--codebook", "none.json"], "none.json"),
        (["local", "m", "none"], "none"),
        (["azure", "m", "demo"], "azure"),
        (
            ["local", "m", "demo", "--base-url", "http://127.0.0.1:1/v1", "--max-cost", "1"],
            "the price of m is not known",
        ),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], message: str, call: Invoke) -> None:
    status, out, err = call("run", *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_what_stops_a_run_is_said_once_with_what_to_do(call: Invoke, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text("[m]\ninput = 1.0\noutput = 1.0\n")
    with ModelServer() as server:
        given = ["run", "local", "m", "demo", "--limit", 3, "--prices", "prices.toml", "--base-url", server.url]
        status, out, err = call(*given, "--max-cost", 0.0001)
        assert (status, server.calls) == (1, 0)
        assert out == "results: 0 files\n"
        stopped, last = err.splitlines()
        assert stopped.endswith("; a higher limit (--max-cost) lets it go on")
        assert last.startswith("attune-bench: 3 conversations not finished")
        assert last.endswith("once that is mended, the same command goes on")
        assert call(*given, "--max-cost", 10)[0] == 0


def test_without_the_extra_it_says_what_to_install(call: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    status, _, err = call("run", "local", "m", "demo", "--base-url", "http://127.0.0.1:1/v1")
    assert status == 2
    assert "pip install 'attune-bench[run]'" in err
    assert err.count("\n") == 1
    assert call("run", "local", "m", "demo", "--dry-run")[0] == 0


def test_a_key_on_the_command_line_is_used_with_a_warning(call: Invoke) -> None:
    with ModelServer() as server:
        options = ["--base-url", server.url, "--limit", 1, "--api-key", "key-of-mine"]
        status, out, err = call("run", "local", "m", "demo", *options)
        assert b"Authorization: Bearer key-of-mine" in server.headers
    assert status == 0
    assert "can be read by other users" in err
    assert "key-of-mine" not in out + err


def test_judges_may_be_elsewhere(call: Invoke) -> None:
    with ModelServer() as server, ModelServer() as other:
        options = ["--judge-model", "j", "--base-url", server.url, "--judge-base-url", other.url, "--limit", 1]
        assert call("run", "local", "m", "demo", *options)[0] == 0
        assert {body["model"] for body in server.bodies} == {"m"}
        assert {body["model"] for body in other.bodies} == {"j"}


def test_what_is_sent(call: Invoke) -> None:
    with ModelServer() as server:
        options = ["--base-url", server.url, "--limit", 1, "--seed", 7, "--max-tokens", 300]
        call("run", "local", "m", "demo", *options, "--temperature", "0.5", "-o", "one")
        body = server.bodies[-1]
        assert (body["model"], body["seed"], body["max_tokens"], body["temperature"]) == ("m", 7, 300, 0.5)
        assert body["response_format"]["json_schema"]["strict"] is True
        call(
            "run", "local", "m", "demo", "--base-url", server.url, "--limit", 1, "--temperature", "server", "-o", "two"
        )
        assert "temperature" not in server.bodies[-1]
        assert "seed" not in server.bodies[-1]


def test_the_command_of_what_was_skipped_is_the_one_that_was_given(call: Invoke, tmp_path: Path) -> None:
    given = ["run", "local", "a model", "demo", "--modes", "verbose", "omniscient", "--judge-model", "j", "k k"]
    given += ["--output", "out", "--limit", "1", "--panas-strategy", "delta", "--concurrency", "3", "--seed", "1"]
    with ModelServer(lambda _number, _body: b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n") as server:
        status, _, err = call(*given, "--base-url", server.url, "--api-key", "key-of-mine")
        given += ["--base-url", server.url]
    assert status == 1
    assert "does not accept the key" in err
    listed = json.loads((tmp_path / "out" / "_skipped_a-model.json").read_bytes())
    words = shlex.split(listed["command"])
    assert words[0] == "attune-bench"
    assert sorted(words[1:]) == sorted(given)
    with ModelServer() as server:
        again = [server.url if word.startswith("http://") else word for word in words[1:]]
        assert call(*again)[0] == 0
    assert not list((tmp_path / "out").glob("_skipped*"))


# Progress.


def test_a_meter_tells_what_is_expected() -> None:
    meter = Meter(conversations=4, calls=100)
    for _ in range(10):
        meter.count(Answer("", 90, 10, 0.01), role="model", is_new=False)
        meter.count(Answer("", 90, 10, 0.02), role="judge", is_new=False)
    meter.failed = 1
    # 20 calls cost 0.30, so that 100 cost 1.50.
    assert meter.text() == (
        "0/4 conversations, 20/100 calls, 2,000 tokens, 0.30 USD (0.20 of judges), about 1.50 expected, 1 failed"
    )


def test_progress_is_plain_lines_without_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("attune_bench.runner._console.monotonic", lambda: now)
    with shown() as watch:
        for now in range(100):  # noqa: B007 - the clock
            watch(Meter(1, 26))
    assert capsys.readouterr().err == "0/1 conversations, 0/26 calls, 0 tokens\n" * 3


# rejudge


def test_rejudging_changes_the_judgements_only(call: Invoke, tmp_path: Path) -> None:
    with ModelServer() as server:
        common = ["--base-url", server.url]
        call("run", "local", "m", "demo", "--limit", 2, "--judge-model", "one", *common)
        sent = server.calls
        again = ["rejudge", "results", "--ground-truth", "demo", "--judge-provider", "local", "--judge-model", "two"]
        status, _, err = call(*again, *common)
        assert (status, err) == (0, "")
        judgements = sum(
            one.is_judge for c in load("demo")[:2] for one in planned_calls(c, Settings("m", "local", judges=("two",)))
        )
        assert server.calls == sent + judgements
        assert {body["model"] for body in server.bodies[sent:]} == {"two"}
        assert call(*again, *common)[1].startswith("results-rejudged: 2 files, 2 of them from before")
        assert server.calls == sent + judgements
    before, after = load_runs(tmp_path / "results"), load_runs(tmp_path / "results-rejudged")
    assert [one.id for one in before] == [one.id for one in after]
    for old, new in zip(before, after, strict=True):
        contents: list[dict[str, Any]] = [json.loads(one.to_json()) for one in (old, new)]
        for content, judge in zip(contents, ("one", "two"), strict=True):
            assert any(f"/judge/{judge}" in name for name in content["calls"])
            content["calls"] = {name: value for name, value in content["calls"].items() if "/judge/" not in name}
            for name in ("run_key", "judge_cost", "judge_settings"):
                content.pop(name, None)
            for turn in content["turns"]:
                assert set(turn.pop("em_draft_judge_scores_by_model", {judge})) == {judge}
                for name in ("scores", "binary_assessment"):
                    turn.pop("em_draft_judge_scores" if name == "scores" else f"em_draft_{name}", None)
                turn.pop("em_draft_binary_assessment_by_model", None)
        assert contents[0] == contents[1]


@pytest.mark.parametrize("calls", [None, 3, ["draft"], {"turn-1/draft": "parsed"}])
def test_runs_of_another_runner_are_judged_again(call: Invoke, tmp_path: Path, calls: Any) -> None:
    with ModelServer() as server:
        call("run", "local", "m", "demo", "--limit", 1, "--base-url", server.url)
        (path,) = (tmp_path / "results").glob("[!._]*.json")
        path.write_text(json.dumps({**json.loads(path.read_bytes()), "calls": calls}))
        options = ["--ground-truth", "demo", "--judge-provider", "local", "--judge-model", "two"]
        status, out, err = call("rejudge", "results", *options, "--base-url", server.url)
    assert (status, err) == (0, "")
    assert out.startswith("results-rejudged: 1 file\n")
    assert out.endswith("next: attune-bench score --results results-rejudged --ground-truth demo\n")


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


def test_rejudging_refuses_the_folder_of_the_runs(call: Invoke, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    options = ["--ground-truth", "demo", "--judge-model", "j", "-o", "results"]
    status, _, err = call("rejudge", "results", *options)
    assert status == 2
    assert "would be replaced" in err


# profile


def test_a_profile_is_asked_for_without_showing_it(call: Invoke, tmp_path: Path) -> None:
    with ModelServer() as server:
        status, out, err = call("profile", "local", "m", "demo", "--base-url", server.url, "--limit", 5)
        assert (status, err) == (0, "")
        assert server.calls == 5
        asked = json.dumps(server.bodies)
    for conversation in load("demo")[:5]:
        assert str(conversation.participant_profile.participant_id) not in asked
    assert out.splitlines()[2].split() == ["trait", "measure", "told", "predicted", "score", "constant", "guess"]
    assert "lower is better" in out
    assert len(list((tmp_path / "profiles").glob("_profile_*.json"))) == 5


def test_a_profile_prompt_is_the_same_whoever_the_participant_is(call: Invoke, tmp_path: Path) -> None:
    """Of two data sets that differ in who is who, but not in who there is, the prompts are the same."""
    first, second = (json.loads(one.to_json()) for one in load("demo")[:2])
    for name, profiles in (("as", (first, second)), ("exchanged", (second, first))):
        (tmp_path / name).mkdir()
        for n, (content, other) in enumerate(zip((first, second), profiles, strict=True)):
            changed = {**content, "participant_profile": other["participant_profile"]}
            (tmp_path / name / f"{n}.json").write_text(json.dumps(changed))
    with ModelServer() as one, ModelServer() as two:
        call("profile", "local", "m", "as", "--base-url", one.url, "--concurrency", 1, "-o", "p1")
        call("profile", "local", "m", "exchanged", "--base-url", two.url, "--concurrency", 1, "-o", "p2")
        assert one.bodies == two.bodies
        assert one.calls == 2


def test_a_profile_is_asked_for_anew_where_the_options_differ(call: Invoke) -> None:
    """The options of a trait are the values of all participants, so that fewer are others."""
    with ModelServer() as server:
        options = ["profile", "local", "m", "demo", "--base-url", server.url, "--limit"]
        call(*options, 2)
        call(*options, 5)
        assert server.calls == 7
        call(*options, 5)
        assert server.calls == 7


def test_an_unreadable_profile_is_asked_for_once_more(call: Invoke) -> None:
    with ModelServer(lambda number, body: said("Who knows?") if number == 1 else said(answer_to(body))) as server:
        status, _, _ = call("profile", "local", "m", "demo", "--base-url", server.url, "--limit", 1)
        assert (status, server.calls) == (0, 2)


def test_a_trait_with_a_single_option_is_not_asked(call: Invoke) -> None:
    """With one participant the only option of a trait would be the answer."""
    with ModelServer() as server:
        assert call("profile", "local", "m", "demo", "--base-url", server.url, "--limit", 1)[0] == 0
        (body,) = server.bodies
    asked = body["response_format"]["json_schema"]["schema"]["properties"]
    assert asked
    assert all(len((of.get("items") or of)["enum"]) > 1 for of in asked.values())
    assert set(asked) == set(SCORES) | {
        name for name in LISTS if len(getattr(load("demo")[0].participant_profile.demographics, name)) > 1
    }


def test_a_profile_is_read_as_other_answers_are(call: Invoke, tmp_path: Path) -> None:
    people = [json.loads(one.to_json()) for one in load("demo")[:2]]
    (tmp_path / "data").mkdir()
    for person, country in zip(people, ("New\n- Zealand", "Peru"), strict=True):
        person["participant_profile"]["demographics"]["country"] = country
        (tmp_path / "data" / f"{country[:3]}.json").write_text(json.dumps(person))
    answer = '{"who_5": 5.0, "asrs_6": "3", "aq_10": NaN, "promis_anxiety": 999, "country": "new - zealand"}'
    with ModelServer(lambda _number, _body: said(answer)) as server:
        assert call("profile", "local", "m", "data", "--base-url", server.url)[0] == 0
        assert "- country: New - Zealand | Peru\n" in server.bodies[0]["messages"][-1]["content"]
    for path in (tmp_path / "profiles").glob("_profile_*.json"):
        predicted = {"country": "New\n- Zealand", "who_5": 5, "asrs_6": 3}
        assert json.loads(path.read_bytes())["predicted"] == predicted


def test_traits_are_scored_beside_a_constant_guess() -> None:
    people = list(load("demo")[:3])
    changes = [("Female", ["A", "B"], 10), ("Female", ["A"], 14), ("Male", [], 24)]
    conversations = []
    for person, (gender, diagnoses, who_5) in zip(people, changes, strict=True):
        content = json.loads(person.to_json())
        content["participant_profile"]["demographics"] |= {"gender": gender, "diagnoses": diagnoses}
        content["participant_profile"]["computed_scores"] = {"who_5": who_5}
        conversations.append(Conversation.model_validate(content))
    said_of = [
        {"gender": "Male", "diagnoses": ["A"], "who_5": 12},
        {"gender": "Female", "diagnoses": ["A"]},
        {"gender": "Male", "who_5": 20},
    ]
    predictions = [
        ProfilePrediction(conversation_id=conversation.id, em_model="m", predicted=predicted)
        for conversation, predicted in zip(conversations, said_of, strict=True)
    ]
    scores = {one.trait: one for one in score_profiles(conversations, predictions)}
    # Two of three right; always Female is right as often.
    assert scores["gender"] == TraitScore("gender", "accuracy", 3, 3, 2 / 3, 2 / 3)
    # {A, B} against {A} is 1/2, {A} against {A} 1; nobody tells of the empty list. Always {A, B}: 1 and 1/2.
    assert scores["diagnoses"] == TraitScore("diagnoses", "jaccard", 2, 2, 0.75, 0.75)
    # |10 - 12| and |24 - 20|; the median of 10 and 24 is 17, 7 from both.
    assert scores["who_5"] == TraitScore("who_5", "mae", 3, 2, 3.0, 7.0)
    assert scores["country"].answered == 0
    assert str(scores["country"].score) == "nan"


# stats


def test_the_summary_of_scores(make_record: Callable[..., Any], call: Invoke, tmp_path: Path) -> None:
    records = [
        make_record(conversationId=f"c{n}", participant_id=f"P{n}", avg_emotion_f1=value, em_model="vendor/model")
        for n, value in enumerate((0.2, 0.4, 0.9))
    ]
    scores = Scores.of(records, protocol="documented", synthetic=False)
    scores.write(tmp_path / "scores.json")
    status, out, _ = call("stats", "--scores", "scores.json")
    assert status == 0
    assert out.startswith("vendor/model, default: 3 conversations\n")
    assert out.rstrip("\n") == summary(scores).rstrip("\n")
    (row,) = (line.split() for line in out.splitlines() if line.startswith("avg_emotion_f1 "))
    # Mean 0.5; squared deviations .09, .01, .16 sum to .26, over 2 is .13, of which the root is .3606.
    assert row == ["avg_emotion_f1", "3", "0.500", "0.361", "0.200", "0.400", "0.900"]
