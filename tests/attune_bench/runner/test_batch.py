"""Batch files: the results of a run from the same answers, and one error where answers and calls do not fit."""

import json
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import pytest
from batch_service import answer_calls, batch_answer
from commands import Call
from model_server import Json, ModelServer, answer_to
from slow_cases import slow_except

from attune_bench.benchmarks.attunebench.task import TASK, AttuneBenchSettings
from attune_bench.benchmarks.eibench import task as eibench
from attune_bench.runner import (
    Price,
    ProviderError,
    ReplaceError,
    RunError,
    RunOptions,
    batch,
    endpoint,
    run_sync,
)
from attune_bench.runner.batch import export_batch, import_batch
from attune_data import load, load_scenarios
from attune_data.codebook import codebook_folder
from attune_data.testing import mutated

RunFiles = Callable[[Path], dict[str, bytes]]
Change = Callable[[list[Json]], Sequence[Json | bytes]]

SETTINGS = [AttuneBenchSettings("vendor/model", mode, judges=("judge/one",)) for mode in ("default", "verbose")]
PROVIDERS: dict[Any, str] = {"model": "openai-compatible", "judge": "openai-compatible"}


def often_odd(body: Json) -> str:
    """Answer: one request in eight in words, which cannot be read; the same to the same request."""
    odd = sha256(json.dumps(body["messages"]).encode()).digest()[0] < 32
    return "I cannot say." if odd else answer_to(body)


def write_answers(calls: Path, answers: Path, change: Change = lambda lines: lines) -> Path:
    """Write the answers to a file of calls, in the reverse order."""
    lines = change([batch_answer(line, often_odd) for line in reversed(calls.read_bytes().splitlines())])
    answers.write_bytes(
        b"".join((one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n" for one in lines)
    )
    return answers


def export(calls: Path, again: Path | None = None, units: Any = None, settings: Any = None) -> Sequence[Path]:
    found = load("demo")[:3] if units is None else units
    return export_batch(TASK, found, settings or SETTINGS, PROVIDERS, calls=calls, again=again).files


def take(calls: Path, answers: Iterable[Path], output: Path, units: Any = None, **options: Any) -> Any:
    found = load("demo")[:3] if units is None else units
    return import_batch(TASK, found, SETTINGS, PROVIDERS, calls=calls, answers=list(answers), output=output, **options)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [None, pytest.param(7, marks=pytest.mark.slow)])
def test_results_are_those_of_a_run_with_the_same_answers(
    seed: int | None, tmp_path: Path, run_files: RunFiles
) -> None:
    prices = {name: Price(input=1.0, output=2.0) for name in ("vendor/model", "judge/one")}
    each = [replace(settings, seed=seed) for settings in SETTINGS]
    demo = load("demo")[:3]
    with ModelServer(answer=often_odd) as server:
        where = endpoint("local", base_url=server.url)
        run_sync(TASK, demo, each, where, output=tmp_path / "run", options=RunOptions(prices=prices))
        sent = server.calls
        asked, rounds, batch = 0, 0, tmp_path / "batch"
        while files := export_batch(
            TASK, demo, each, PROVIDERS, calls=tmp_path / f"calls{rounds}.jsonl", again=batch if rounds else None
        ).files:
            rounds += 1
            for path in files:
                asked += len(path.read_bytes().splitlines())
                answers = write_answers(path, tmp_path / f"answers_{path.name}")
                made = import_batch(
                    TASK, demo, each, PROVIDERS, calls=path, answers=[answers], output=batch, prices=prices
                )
        assert (asked, rounds) == (sent, 3)
        assert (made.outcome.finished, made.left.total(), made.errors) == (6, 0, ())
        assert run_files(batch) == run_files(tmp_path / "run")
        outcome = run_sync(TASK, demo, each, where, output=batch)
        assert (outcome.earlier, server.calls) == (6, sent)


def test_a_run_into_the_folder_asks_for_what_is_left(tmp_path: Path, run_files: RunFiles) -> None:
    demo, calls = load("demo")[:3], tmp_path / "calls.jsonl"
    export(calls)
    made = take(calls, [write_answers(calls, tmp_path / "answers.jsonl")], tmp_path / "batch")
    with ModelServer(answer=often_odd) as server:
        where = endpoint("local", base_url=server.url)
        run_sync(TASK, demo, SETTINGS, where, output=tmp_path / "run")
        whole = server.calls
        run_sync(TASK, demo, SETTINGS, where, output=tmp_path / "batch")
        assert server.calls - whole >= made.left.total() > 0
        assert server.calls - whole == whole - len(calls.read_bytes().splitlines())
    assert run_files(tmp_path / "batch") == run_files(tmp_path / "run")


def test_equal_calls_give_equal_files(tmp_path: Path) -> None:
    export(tmp_path / "one.jsonl")
    export(tmp_path / "two.jsonl")
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    lines = [json.loads(line) for line in (tmp_path / "one.jsonl").read_bytes().splitlines()]
    assert {tuple(line) for line in lines} == {("custom_id", "method", "url", "body")}
    assert {(line["method"], line["url"], line["body"]["model"]) for line in lines} == {
        ("POST", "/v1/chat/completions", "vendor/model")
    }
    ids = [line["custom_id"] for line in lines]
    assert len(set(ids)) == len(ids)
    assert all(len(one) <= 64 and one.isalnum() for one in ids)
    manifest = json.loads((tmp_path / "one.manifest.json").read_bytes())
    assert list(manifest["calls"]) == ids
    assert manifest["calls"][ids[0]] == [load("demo")[0].id, "default", "turn-1/draft"]


ODD: Sequence[Any] = (0, False, "400", [200], {"code": 200})  # in place of a status

WRONG: dict[str, tuple[Change, str]] = {
    "missing": (lambda lines: lines[2:], r"2 calls without an answer \(.*--partial\): [\w-]+ verbose \S+, "),
    "doubled": (lambda lines: [*lines, lines[0]], r"1 call answered twice: line 1 of a.jsonl and line 135 of a.jsonl$"),
    "foreign": (lambda lines: [*lines, {**lines[0], "custom_id": "x"}], r"to no call of calls.jsonl: .*135.*\('x'\)$"),
    "unnamed": (lambda lines: [*lines, {"id": "b"}], r"1 line without a custom_id: line 135 of a.jsonl$"),
    "broken": (lambda lines: [*lines, b'{"custom_id": "'], r"1 line without a JSON object.*cut off: line 135 of"),
    "all": (lambda lines: [b"[]", *lines[1:], lines[1], {}], r"without a JSON.*; .*custom_id: .*twice: .*an answer"),
}


@pytest.mark.parametrize("name", slow_except(WRONG, "missing", "all"))
def test_answers_that_do_not_fit_are_one_error_and_none_is_taken(name: str, tmp_path: Path) -> None:
    change, message = WRONG[name]
    calls, output = tmp_path / "calls.jsonl", tmp_path / "batch"
    export(calls)
    answers = write_answers(calls, tmp_path / "a.jsonl", change)
    with pytest.raises(RunError, match=message) as caught:
        take(calls, [answers], output)
    assert "none is taken" in str(caught.value)
    assert not output.exists()


@pytest.mark.slow
def test_lines_that_are_errors_are_listed_and_asked_for_again(tmp_path: Path) -> None:
    calls, output = tmp_path / "calls.jsonl", tmp_path / "batch"
    export(calls)
    lines = [batch_answer(line) for line in calls.read_bytes().splitlines()]
    ids = [line["custom_id"] for line in lines]
    refused = {"status_code": 400, "body": {"error": {"message": "too long"}}}
    wrong = [
        {"custom_id": ids[0], "response": None, "error": {"code": "batch_expired", "message": "Too late."}},
        {"custom_id": ids[1], "response": refused, "error": None},
        {"custom_id": ids[2], "response": {"status_code": 200, "body": {"answer": 42}}, "error": None},
        {"custom_id": ids[3]},
        {**lines[4], "error": {"error": {"message": "It broke off."}}},
        *(
            {**line, "response": {**line["response"], "status_code": code}}
            for line, code in zip(lines[5:10], ODD, strict=True)
        ),
    ]
    good, bad = tmp_path / "answers.jsonl", tmp_path / "errors.jsonl"
    fine = [{**lines[10], "error": {"code": None}}, *lines[11:]]
    good.write_text("".join(json.dumps(line) + "\n" for line in fine), encoding="utf-8")
    bad.write_text("\n\n".join(json.dumps(line) for line in wrong), encoding="utf-8")
    made = take(calls, [good, bad], output)
    assert [(error.place, error.reason) for error in made.errors] == [
        ("errors.jsonl, line 1", "batch_expired: Too late."),
        ("errors.jsonl, line 3", "status 400 (too long)"),
        ("errors.jsonl, line 5", "a response that is not of the OpenAI protocol"),
        ("errors.jsonl, line 7", "a response that is not of the OpenAI protocol"),
        ("errors.jsonl, line 9", "It broke off."),
        *(
            (f"errors.jsonl, line {place}", f"status_code is {json.dumps(code)}; expected a number from 100 to 599")
            for place, code in zip(range(11, 21, 2), ODD, strict=True)
        ),
    ]
    assert made.errors[0].call == f"{load('demo')[0].id} default turn-1/draft"
    export(tmp_path / "again.jsonl", output)
    again = [json.loads(line)["custom_id"] for line in (tmp_path / "again.jsonl").read_bytes().splitlines()]
    assert again == ids[:10]
    # Taken a second time, the answers change nothing.
    cache = (output / ".cache.jsonl").read_bytes()
    take(calls, [good, bad], output)
    assert (output / ".cache.jsonl").read_bytes() == cache


@pytest.mark.slow
def test_files_are_no_larger_than_services_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = export(tmp_path / "whole.jsonl")[0].read_bytes()
    monkeypatch.setattr(batch, "_MOST_LINES", 50)
    by_lines = export(tmp_path / "lines.jsonl")
    assert [path.name for path in by_lines] == ["lines.jsonl", "lines-2.jsonl", "lines-3.jsonl"]
    assert [path.read_bytes().count(b"\n") for path in by_lines] == [50, 50, 34]
    assert b"".join(path.read_bytes() for path in by_lines) == whole
    monkeypatch.setattr(batch, "_MOST_BYTES", 1_000_000)
    by_bytes = export(tmp_path / "bytes.jsonl")
    assert len(by_bytes) > 3
    assert all(path.stat().st_size <= 1_000_000 for path in by_bytes)
    assert b"".join(path.read_bytes() for path in by_bytes) == whole
    for path in by_bytes:
        take(path, [write_answers(path, tmp_path / "answers.jsonl")], tmp_path / "batch")
    export(tmp_path / "left.jsonl", tmp_path / "batch")
    assert not {json.loads(line)["custom_id"] for line in whole.splitlines()} & {
        json.loads(line)["custom_id"]
        for path in tmp_path.glob("left*.jsonl")
        for line in path.read_bytes().splitlines()
    }


@pytest.mark.slow
def test_calls_of_two_models_are_in_two_files(tmp_path: Path) -> None:
    calls, output = tmp_path / "calls.jsonl", tmp_path / "batch"
    export(calls)
    take(calls, [write_answers(calls, tmp_path / "answers.jsonl")], output)
    files = export(tmp_path / "again.jsonl", output)
    models = [{json.loads(line)["body"]["model"] for line in path.read_bytes().splitlines()} for path in files]
    assert sorted(models, key=str) == [{"judge/one"}, {"vendor/model"}]


@pytest.mark.slow
def test_what_has_changed_since_is_an_error(tmp_path: Path) -> None:
    calls = tmp_path / "calls.jsonl"
    export(calls)
    answers = write_answers(calls, tmp_path / "answers.jsonl")
    with pytest.raises(RunError, match=r"have changed since calls\.jsonl was written \(version 0"):
        take(calls, [answers], tmp_path / "batch", units=load("demo")[:2])
    moved = tmp_path / "moved.jsonl"
    shutil.copy(calls, moved)
    with pytest.raises(RunError, match=r"moved\.manifest\.json is missing"):
        take(moved, [answers], tmp_path / "batch")
    shutil.copy(tmp_path / "calls.manifest.json", tmp_path / "moved.manifest.json")
    with pytest.raises(RunError, match=r"does not name moved\.jsonl; was the file renamed"):
        take(moved, [answers], tmp_path / "batch")
    (tmp_path / "calls.manifest.json").write_text("{", encoding="utf-8")
    with pytest.raises(RunError, match=r"calls\.manifest\.json is damaged"):
        take(calls, [answers], tmp_path / "batch")
    with pytest.raises(RunError, match=r"no such folder of results: "):
        export(calls, tmp_path / "none")
    with pytest.raises(RunError, match=r"there is no folder .*none to write calls\.jsonl to"):
        export(tmp_path / "none" / "calls.jsonl")


def test_calls_that_depend_on_answers_are_refused(tmp_path: Path) -> None:
    settings = eibench.TASK.settings("vendor/model", simulator_model="vendor/person")
    with pytest.raises(RunError, match="depend on the answers before them"):
        export_batch(eibench.TASK, load_scenarios("demo"), settings, PROVIDERS, calls=tmp_path / "calls.jsonl")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_told_with_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    message = (
        f"{tmp_path / 'calls.jsonl'} cannot be written; choose another file, for instance {Path.home()}/calls.jsonl"
    )
    with pytest.raises(RunError, match=f"^{re.escape(message)}$"):
        export(tmp_path / "calls.jsonl")
    assert not list(tmp_path.iterdir())


def test_a_target_that_cannot_be_written_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "_MOST_LINES", 50)
    (tmp_path / "calls-3.jsonl").mkdir()
    with pytest.raises(RunError, match=r"calls-3\.jsonl: cannot be written: Is a directory"):
        export(tmp_path / "calls.jsonl")
    assert {path.name for path in tmp_path.iterdir()} <= {"calls.jsonl", "calls-2.jsonl", "calls-3.jsonl"}
    assert not list(tmp_path.glob(".*"))


@pytest.mark.slow
def test_the_answers_to_one_of_several_files_leave_the_others_waiting(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "_MOST_LINES", 20)
    calls, output = tmp_path / "k.jsonl", tmp_path / "batch"
    assert call("batch", "export", "local", "m", "demo", "--limit", "2", "-o", calls)[0] == 0
    answers = write_answers(calls, tmp_path / "answers.jsonl", lambda lines: lines)
    status, out, _ = call("batch", "import", calls, answers, "-o", output)
    assert status == 1
    others = f"{tmp_path / 'k-2.jsonl'}, {tmp_path / 'k-3.jsonl'}"
    assert f"26 calls of the same export without an answer here: import those to {others} first" in out
    for name in ("k-2", "k-3"):
        write_answers(tmp_path / f"{name}.jsonl", answers)
        _, out, _ = call("batch", "import", tmp_path / f"{name}.jsonl", answers, "-o", output)
    assert "same export" not in out


def test_a_file_of_calls_that_was_edited_is_refused(tmp_path: Path) -> None:
    calls = tmp_path / "calls.jsonl"
    export(calls)
    answers = write_answers(calls, tmp_path / "answers.jsonl")
    calls.write_bytes(calls.read_bytes().replace(b'"vendor/model"', b'"served-model"'))
    with pytest.raises(RunError, match=r"calls\.jsonl has changed since it was written"):
        take(calls, [answers], tmp_path / "batch")


@pytest.mark.slow
def test_the_answers_that_are_there_can_be_taken(tmp_path: Path) -> None:
    calls, output = tmp_path / "calls.jsonl", tmp_path / "batch"
    export(calls)
    answers = write_answers(calls, tmp_path / "answers.jsonl", lambda lines: lines[40:])
    made = take(calls, [answers], output, partial=True)
    export(tmp_path / "again.jsonl", output)
    ids = {json.loads(line)["custom_id"] for line in calls.read_bytes().splitlines()[-40:]}
    again = {
        json.loads(line)["custom_id"]
        for path in tmp_path.glob("again*.jsonl")
        for line in path.read_bytes().splitlines()
    }
    assert ids <= again
    assert len(again) == made.left.total()


@pytest.mark.slow
def test_the_answers_of_an_engine_that_was_killed_while_it_wrote_can_be_taken(tmp_path: Path) -> None:
    calls, answers, count = tmp_path / "calls.jsonl", tmp_path / "answers.jsonl", 40
    export(calls)
    whole = write_answers(calls, answers).read_bytes()
    ends = [place for place, byte in enumerate(whole) if byte == ord("\n")]
    answers.write_bytes(whole[: ends[count] - 30])
    with pytest.raises(RunError, match=r"1 line without a JSON object.*cut off: line 41 of answers\.jsonl"):
        take(calls, [answers], tmp_path / "batch")
    take(calls, [answers], tmp_path / "batch", partial=True)
    assert (tmp_path / "batch" / ".cache.jsonl").read_bytes().count(b"\n") == count
    answers.write_bytes(whole[: ends[count] - 30] + whole[ends[count] :])
    with pytest.raises(RunError, match=r"1 line without a JSON object.*cut off: line 41 of answers\.jsonl"):
        take(calls, [answers], tmp_path / "within", partial=True)


def test_an_answer_that_no_run_would_read_is_an_error(tmp_path: Path) -> None:
    def grow(lines: list[Json]) -> list[Json]:
        lines[0]["response"]["body"]["choices"][0]["message"]["content"] = "x" * 1_000_001
        return lines

    calls = tmp_path / "calls.jsonl"
    export(calls)
    made = take(calls, [write_answers(calls, tmp_path / "answers.jsonl", grow)], tmp_path / "batch")
    assert [error.reason for error in made.errors] == ["a response of more than 1,000,000 bytes"]


def test_what_fails_with_every_answer_is_told(tmp_path: Path) -> None:
    def refuse(*_: object) -> Any:
        raise ValueError("the answers make no record")

    calls = tmp_path / "calls.jsonl"
    task, demo, settings = replace(TASK, assemble=refuse, play=None), load("demo")[:1], SETTINGS[0]
    alone = replace(settings, judges=())
    export_batch(task, demo, alone, PROVIDERS, calls=calls)
    answers = tmp_path / "answers.jsonl"
    answer_calls(calls, answers)
    made = import_batch(task, demo, alone, PROVIDERS, calls=calls, answers=[answers], output=tmp_path / "batch")
    assert (made.outcome.finished, made.left.total(), made.outcome.meter.failed) == (0, 0, 1)
    assert [one.reason for one in made.failed] == ["the answers make no record"]


def test_results_of_other_settings_stay_and_no_answer_is_taken(tmp_path: Path) -> None:
    output, demo = tmp_path / "batch", load("demo")[:1]
    with ModelServer() as server:
        run_sync(TASK, demo, SETTINGS[0], endpoint("local", base_url=server.url), output=output)
    cache = (output / ".cache.jsonl").read_bytes()
    calls, other = tmp_path / "calls.jsonl", replace(SETTINGS[0], seed=5)
    export_batch(TASK, demo, other, PROVIDERS, calls=calls)
    answers = write_answers(calls, tmp_path / "answers.jsonl")
    with pytest.raises(ReplaceError):
        import_batch(TASK, demo, other, PROVIDERS, calls=calls, answers=[answers], output=output)
    assert (output / ".cache.jsonl").read_bytes() == cache


def test_a_role_without_a_provider_is_served_as_the_model_is(tmp_path: Path) -> None:
    for name, providers in (("one", {"model": "local"}), ("two", PROVIDERS)):
        given: dict[Any, str] = dict(providers)
        export_batch(TASK, load("demo")[:1], SETTINGS, given, calls=tmp_path / f"{name}.jsonl")
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    with pytest.raises(ProviderError, match="unknown provider 'OpenAI'"):
        export_batch(TASK, load("demo")[:1], SETTINGS, {"model": "OpenAI"}, calls=tmp_path / "three.jsonl")


@pytest.mark.slow
def test_errors_within_errors_and_deep_lines(tmp_path: Path) -> None:
    calls = tmp_path / "calls.jsonl"
    export(calls)
    lines = [batch_answer(line) for line in calls.read_bytes().splitlines()]
    lines[0] = {"custom_id": lines[0]["custom_id"], "error": {"error": {"code": 400, "message": "long " * 1000}}}
    lines[1] = {"custom_id": lines[1]["custom_id"], "error": {"error": {"x": 1}}, "response": {"status_code": 503}}
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    made = take(calls, [answers], tmp_path / "batch")
    assert made.errors[0].reason.startswith("400: long long")
    assert len(made.errors[0].reason) <= 200
    assert made.errors[1].reason == "status 503"
    deep = json.dumps(lines[2]).encode().replace(b'"error": null', b'"error": ' + b"[" * 985 + b"]" * 985)
    answers.write_bytes(b"".join([*(json.dumps(line).encode() + b"\n" for line in lines[:2] + lines[3:]), deep]))
    with pytest.raises(RunError, match="1 line without a JSON object"):
        take(calls, [answers], tmp_path / "deep")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("data.jsonl", "is the data"),
        ("data/calls.jsonl", "is in "),
        ("RUNS/calls.jsonl", "every file there is read as a result"),
    ],
)
def test_calls_are_not_written_over_or_among_what_is_read(
    target: str, message: str, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("data", "RUNS"):
        (tmp_path / name).mkdir()
    load("demo")[:1].to_jsonl("data.jsonl")
    load("demo")[:1].to_jsonl("data/data.jsonl")
    before = Path("data.jsonl").read_bytes()
    source = "data" if target.startswith("data/") else "data.jsonl"
    status, _, err = call("batch", "export", "local", "m", source, "-o", target, "--again", "RUNS")
    assert (status, message in err) == (2, True), err
    assert Path("data.jsonl").read_bytes() == before


@pytest.mark.slow
def test_commands_export_and_import(tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    load("demo")[:2].to_jsonl(tmp_path / "data.jsonl")
    (tmp_path / "elsewhere").mkdir()
    words = ["openai", "vendor/model", "data.jsonl", "--judge-model", "judge/one", "--seed", "3"]
    status, out, _ = call("batch", "export", *words, "-o", "elsewhere/calls.jsonl")
    assert (status, out.splitlines()) == (
        0,
        [
            "46 calls about 2 conversations; nothing was sent. Next, with the answers:",
            "attune-bench batch import elsewhere/calls.jsonl ANSWERS.jsonl -o RUNS",
        ],
    )
    calls = Path("elsewhere/calls.jsonl")
    assert "max_completion_tokens" in json.loads(calls.read_bytes().splitlines()[0])["body"]
    assert str(tmp_path) not in (tmp_path / "elsewhere" / "calls.manifest.json").read_text(encoding="utf-8")
    write_answers(calls, Path("answers.jsonl"))
    status, out, err = call("batch", "import", str(calls), "answers.jsonl", "-o", "RUNS")
    assert status == 1
    assert "export again with --again" in out
    assert not err
    status, out, _ = call("batch", "export", *words, "-o", "again.jsonl", "--again", "RUNS")
    again = out.splitlines()[1:]
    for line in again:
        _, _, _, path, *_ = line.split()
        write_answers(Path(path), Path("answers.jsonl"))
        status, out, err = call("batch", "import", path, "answers.jsonl", "-o", "RUNS")
    while status:
        status, out, _ = call("batch", "export", *words, "-o", "more.jsonl", "--again", "RUNS")
        for line in out.splitlines()[1:]:
            path = line.split()[3]
            write_answers(Path(path), Path("answers.jsonl"))
            status, out, err = call("batch", "import", path, "answers.jsonl", "-o", "RUNS")
    assert "RUNS: 2 runs" in out
    assert "next: attune-bench score --results RUNS --data " in out
    assert call("score", "--results", "RUNS", "--data", "data.jsonl", "-o", "scores.json")[0] == 0
    assert call("batch", "export", *words, "-o", "none.jsonl", "--again", "RUNS")[1] == (
        "no call is left: RUNS has every answer\n"
    )


def test_mistakes_of_commands(tmp_path: Path, call: Call) -> None:
    for words, message in (
        (["openai", "m", "demo", "-o", str(tmp_path / "calls.json")], "does not end in .jsonl"),
        (["nobody", "m", "demo", "-o", str(tmp_path / "calls.jsonl")], "unknown provider 'nobody'"),
        (["local", "m", "demo", "-o", str(tmp_path / "c.jsonl"), "--judge-base-url", "http://h/v1"], "is for run"),
        (["local", "m", "demo", "-o", str(tmp_path / "c.jsonl"), "--benchmark", "eibench"], "depend on the answers"),
    ):
        status, _, err = call("batch", "export", *words)
        assert (status, message in err) == (2, True), err
    status, _, err = call("batch", "import", str(tmp_path / "calls.jsonl"), "a.jsonl", "-o", str(tmp_path / "RUNS"))
    assert (status, "calls.manifest.json is missing" in err) == (2, True)
    for folder in (".", tmp_path):
        _, _, err = call("batch", "import", folder, "a.jsonl", "-o", tmp_path / "RUNS")
        assert err == f"attune-bench: {folder} is a folder; name the file of calls\n"
    assert not list(tmp_path.iterdir())


def test_calls_without_schemas(tmp_path: Path) -> None:
    free = AttuneBenchSettings("vendor/model", answer_format="free")
    (path,) = export(tmp_path / "calls.jsonl", settings=free)
    assert not any("response_format" in json.loads(line)["body"] for line in path.read_bytes().splitlines())


def test_paths_among_the_options_are_found_from_anywhere(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    load("demo")[:1].to_jsonl(tmp_path / "data.jsonl")
    (tmp_path / "own.toml").write_bytes((codebook_folder() / "attunebench.toml").read_bytes())
    (tmp_path / "calls").mkdir()
    monkeypatch.chdir(tmp_path)
    words = ["local", "m", "data.jsonl", "--codebook", "own.toml", "-o", "calls/calls.jsonl"]
    assert call("batch", "export", *words)[0] == 0
    monkeypatch.chdir("/")
    calls = tmp_path / "calls" / "calls.jsonl"
    answers = write_answers(calls, tmp_path / "answers.jsonl", lambda lines: lines)
    status, out, err = call("batch", "import", calls, answers, "-o", tmp_path / "RUNS")
    assert (status in (0, 1), err) == (True, ""), err
    assert "/22 calls" in out


def test_a_damaged_manifest_is_one_line(tmp_path: Path, call: Call) -> None:
    calls, manifest = tmp_path / "calls.jsonl", tmp_path / "calls.manifest.json"
    assert call("batch", "export", "local", "m", "demo", "--limit", "1", "-o", calls)[0] == 0
    answers = write_answers(calls, tmp_path / "answers.jsonl")
    content = json.loads(manifest.read_bytes())
    content["calls"] = dict(list(content["calls"].items())[:2])  # So that the rest is changed as often.
    for seed in range(40):
        manifest.write_bytes(mutated(content, Random(seed)))
        status, _, err = call("batch", "import", calls, answers, "-o", tmp_path / f"RUNS-{seed}")
        assert status in (0, 1, 2), seed
        assert "Traceback" not in err, seed
        if status == 2:
            assert err.startswith("attune-bench: "), seed
            assert err.count("\n") == 1, seed


def test_a_benchmark_of_ones_own_is_named_again(tmp_path: Path, call: Call) -> None:
    calls, manifest = tmp_path / "calls.jsonl", tmp_path / "calls.manifest.json"
    call("batch", "export", "local", "m", "demo", "--limit", "1", "-o", calls)
    manifest.write_text(manifest.read_text(encoding="utf-8").replace('"attunebench"', '"os:path"'), encoding="utf-8")
    status, _, err = call("batch", "import", calls, write_answers(calls, tmp_path / "answers.jsonl"))
    assert (status, err) == (
        2, "attune-bench: these calls are of os:path; if that is yours, name it with --benchmark\n"
    )  # fmt: skip
