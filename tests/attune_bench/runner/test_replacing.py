"""Finished results of other settings: they are replaced only where that is wanted, by whatever command."""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from model_server import Json, ModelServer
from slow_cases import slow_after

from attune_bench.benchmarks.attunebench.profile import PROFILE, ProfileSettings, profile_options
from attune_bench.benchmarks.attunebench.rejudging import REJUDGE, drafted_runs
from attune_bench.benchmarks.attunebench.task import TASK, AttuneBenchSettings
from attune_bench.runner import ReplaceError, RunError, RunOptions, RunOutcome, endpoint, run_sync
from attune_data import Conversation, load_runs

Invoke = Callable[..., tuple[int, str, str]]

SETTINGS = AttuneBenchSettings("vendor/model", judges=("judge/one",))


def run(
    server: ModelServer,
    units: Any,
    output: Path,
    settings: Any = SETTINGS,
    *,
    task: Any = TASK,
    provider: str = "openai-compatible",
    **options: Any,
) -> RunOutcome:
    where = replace(endpoint("local", base_url=server.url), provider=provider)
    return run_sync(task, units, settings, where, output=output, options=RunOptions(**options))


def content(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return all files but the lock, with the time of their last change."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@pytest.fixture
def short(demo: list[Conversation]) -> list[Conversation]:
    """Return three conversations of one turn."""
    return [one.model_copy(update={"turns": one.turns[:1]}) for one in demo[:3]]


@pytest.mark.parametrize(
    ("changed", "options", "said"),
    slow_after(
        2,
        [
            ({"seed": 7}, {}, "seed None, here 7"),
            ({"temperature": 0.5, "max_tokens": 99}, {}, "temperature 0.0, here 0.5, max_tokens 4096, here 99"),
            ({"judges": ("judge/two",)}, {}, "judge_models ['judge/one'], here ['judge/two']"),
            ({"panas_strategy": "delta"}, {}, "panas_strategy 'absolute', here 'delta'"),
            ({"answer_format": "free"}, {}, "answer_format 'schema', here 'free'"),
            ({}, {"provider": "prime"}, "provider 'openai-compatible', here 'prime'"),
        ],
    ),
)
def test_other_settings_are_one_error_before_anything_is_touched(
    changed: Json, options: Json, said: str, short: list[Conversation], tmp_path: Path
) -> None:
    settings = replace(SETTINGS, **changed)
    with ModelServer() as server:
        run(server, short[:2], tmp_path)
        before, sent = content(tmp_path), server.calls
        with pytest.raises(ReplaceError) as caught:
            run(server, short, tmp_path, settings, **options)
        assert (content(tmp_path), server.calls) == (before, sent)
        assert str(caught.value) == (
            f"2 finished results in {tmp_path} would be replaced by results of other settings ({said})"
        )
        assert run(server, short, tmp_path, settings, replace=True, **options).replaced == 2


def test_the_same_settings_never_ask(short: list[Conversation], tmp_path: Path) -> None:
    with ModelServer() as server:
        run(server, short[:1], tmp_path)
        assert run(server, short[:2], tmp_path).earlier == 1
        (path, other) = sorted(tmp_path.glob("[!._]*.json"))
        path.write_bytes(path.read_bytes()[:100])  # Damaged.
        other.unlink()
        assert run(server, short, tmp_path).finished == 3
        # What the conversation says has changed, and not how it is asked about; another model has files of its own.
        turn = short[0].turns[0].model_copy(update={"user_message": "Another message."})
        assert run(server, [short[0].model_copy(update={"turns": (turn,)})], tmp_path).replaced == 1
        assert run(server, short, tmp_path, replace_model(SETTINGS, "vendor/other")).replaced == 0


def replace_model(settings: AttuneBenchSettings, model: str) -> AttuneBenchSettings:
    return replace(settings, model=model)


def test_judgements_and_profiles_of_other_settings(short: list[Conversation], tmp_path: Path) -> None:
    profile = ProfileSettings("vendor/model", options=profile_options(short))
    with ModelServer() as server:
        run(server, short, tmp_path / "runs")
        drafted = drafted_runs(load_runs(tmp_path / "runs"), short)
        for task, units, settings, name in (
            (REJUDGE, drafted, replace(SETTINGS, judges=("judge/two",)), "judged"),
            (PROFILE, short, profile, "profiles"),
        ):
            run(server, units, tmp_path / name, settings, task=task)
            before, sent = content(tmp_path / name), server.calls
            with pytest.raises(ReplaceError, match=r"^3 finished results .* \(seed None, here 3\)$"):
                run(server, units, tmp_path / name, replace(settings, seed=3), task=task)
            assert (content(tmp_path / name), server.calls) == (before, sent)
            assert run(server, units, tmp_path / name, settings, task=task).earlier == 3


def test_another_model_of_the_same_file_name(short: list[Conversation], tmp_path: Path) -> None:
    other = replace_model(SETTINGS, "vendor_model")
    profile = ProfileSettings("vendor/model", options=profile_options(short))
    with ModelServer() as server:
        run(server, short[:1], tmp_path / "runs")
        run(server, short[:1], tmp_path / "profiles", profile, task=PROFILE)
        run(server, short[:1], tmp_path / "others", other)
        said = r"\(em_model 'vendor/model', here 'vendor_model'\)$"
        with pytest.raises(ReplaceError, match=said):
            run(server, short[:1], tmp_path / "runs", other)
        with pytest.raises(ReplaceError, match=said):
            run(server, short[:1], tmp_path / "profiles", replace(profile, model="vendor_model"), task=PROFILE)
        for name in ("runs", "others"):
            drafted = drafted_runs(load_runs(tmp_path / name), short)
            if name == "runs":
                run(server, drafted, tmp_path / "judged", task=REJUDGE)
            else:
                with pytest.raises(ReplaceError, match=said):
                    run(server, drafted, tmp_path / "judged", task=REJUDGE)


def test_runs_and_rejudged_runs_do_not_replace_each_other(short: list[Conversation], tmp_path: Path) -> None:
    with ModelServer() as server:
        run(server, short[:1], tmp_path / "runs")
        drafted = drafted_runs(load_runs(tmp_path / "runs"), short)
        run(server, drafted, tmp_path / "judged", task=REJUDGE)
        before = content(tmp_path)
        # The judges are the same, and how they are asked.
        with pytest.raises(ReplaceError, match=r"\(judge_settings None, here \{'provider'"):
            run(server, drafted, tmp_path / "runs", task=REJUDGE)
        with pytest.raises(ReplaceError, match=r"\(judge_settings \{.*, here None\)$"):
            run(server, short[:1], tmp_path / "judged")
        assert content(tmp_path) == before


@pytest.mark.parametrize("make", [pytest.param("mkfifo", marks=pytest.mark.posix), "mkdir"])
def test_what_is_no_file_in_place_of_a_result_is_one_error(
    make: str, short: list[Conversation], tmp_path: Path
) -> None:
    with ModelServer() as server:
        getattr(os, make)(tmp_path / f"{short[0].id}_vendor_model_default.json")
        with pytest.raises(RunError, match=r"vendor_model_default\.json: "):
            run(server, short[:1], tmp_path)
        assert server.calls == 0


# The command line.


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Let somebody at a terminal type."""
    keyboard = StringIO(text)
    monkeypatch.setattr(keyboard, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", keyboard)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("command", slow_after(1, ["run", "profile", "rejudge"]))
def test_a_command_asks_on_a_terminal_and_needs_an_option_elsewhere(
    command: str, call: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer() as server:
        where = ("--base-url", server.url)
        assert call("run", "local", "m", "demo", "--limit", 1, *where, "-o", "runs")[0] == 0
        given: tuple[Any, ...] = (command, "local", "m", "demo", "--limit", 1, *where, "-o", "made")
        if command == "rejudge":
            given = (command, "runs", "--judge-model", "j", "--judge-provider", "local", *where, "-o", "made")
        assert call(*given)[0] == 0
        before, sent = content(Path("made")), server.calls

        status, out, err = call(*given, "--seed", 7)
        assert (status, out, err.count("\n")) == (2, "", 1)
        told = "1 finished result in made would be replaced by results of other settings (seed None, here 7)"
        assert err == f"attune-bench: {told}; --replace lets it do so, another --output keeps both\n"

        for answer in ("n\n", ""):
            typed(monkeypatch, answer)
            status, out, err = call(*given, "--seed", 7)
            assert (status, f"{told}; another --output keeps both. Replace? [y/N]" in out + err) == (2, True)
            assert err.endswith("nothing was replaced; another --output keeps both\n")
        assert (content(Path("made")), server.calls) == (before, sent)

        typed(monkeypatch, "y\n")
        assert call(*given, "--seed", 7)[0] == 0
        assert server.calls > sent
        assert call(*given, "--replace")[0] == 0
