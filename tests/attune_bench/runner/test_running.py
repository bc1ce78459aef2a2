"""Whole runs against a server on this machine: their files, going on, and what is in the way of going on."""

import asyncio
import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from model_server import Json, ModelServer, reply

from attune_bench import runner, score
from attune_bench.benchmarks.attunebench.task import TASK, AttuneBenchSettings, planned_calls
from attune_bench.runner import RunError, RunOptions, RunOutcome, endpoint, run_sync
from attune_bench.runner.cache import locked
from attune_bench.runner.cost import Meter
from attune_data import Conversation, load, load_runs

RunFiles = Callable[[Path], dict[str, bytes]]

SETTINGS = AttuneBenchSettings("vendor/model", judges=("judge/one",))


def run(
    server: ModelServer,
    conversations: Any,
    output: Path,
    settings: Any = SETTINGS,
    provider: str = "openai-compatible",
    **options: Any,
) -> RunOutcome:
    where = replace(endpoint("local", base_url=server.url), provider=provider)
    return run_sync(TASK, conversations, settings, where, output=output, options=RunOptions(**options))


def planned(conversations: list[Conversation], settings: AttuneBenchSettings = SETTINGS) -> int:
    return sum(len(planned_calls(conversation, settings)) for conversation in conversations)


def late(_number: int, body: Json) -> float:
    """Answer later the shorter the request is, so that answers overtake one another."""
    return 0.02 / len(body["messages"])


@pytest.mark.slow
@pytest.mark.parametrize("limit", [8, pytest.param(None, marks=pytest.mark.slow)])
def test_files_do_not_depend_on_concurrency(limit: int | None, tmp_path: Path, run_files: RunFiles) -> None:
    demo = load("demo")[:limit]
    with ModelServer(late) as server:
        one = run(server, demo, tmp_path / "one", concurrency=1)
        sent = server.calls
        many = run(server, demo, tmp_path / "many", concurrency=32)
        assert server.most_under_way <= 32
    assert sent == planned(list(demo)) == one.meter.requested == many.meter.requested
    assert one.finished == many.finished == len(demo)
    assert one.skipped == many.skipped == ()
    files = run_files(tmp_path / "one")
    assert len(files) == len(demo)
    assert files == run_files(tmp_path / "many")


def test_five_turns_with_a_judge_are_26_calls(five_turns: Conversation, tmp_path: Path) -> None:
    with ModelServer() as server:
        run(server, [five_turns], tmp_path)
        assert server.calls == 26
        assert {body["max_tokens"] for body in server.bodies} == {4096}


@pytest.mark.slow
def test_the_duration_of_a_resumed_run_is_that_of_all_calls_that_made_it(
    five_turns: Conversation, tmp_path: Path
) -> None:
    cache = tmp_path / ".cache.jsonl"

    def duration_of_a_run(server: ModelServer) -> Any:
        for path in tmp_path.glob("[!._]*.json"):
            path.unlink()  # As if the run had been stopped before.
        run(server, [five_turns], tmp_path)
        (path,) = tmp_path.glob("[!._]*.json")
        return json.loads(path.read_bytes())["duration_seconds"]

    with ModelServer(latency=0.02) as server:
        whole = duration_of_a_run(server)
        seconds = [json.loads(line)["seconds"] for line in cache.read_bytes().splitlines()]
        assert len(seconds) == 26
        assert min(seconds) >= 0.02  # the latency
        assert whole == pytest.approx(sum(seconds), abs=1e-9)
        # All calls were made before.
        assert duration_of_a_run(server) == whole
        assert server.calls == 26
        # 20 were, and 6 are made now.
        cache.write_bytes(b"".join(cache.read_bytes().splitlines(keepends=True)[:20]))
        assert duration_of_a_run(server) >= sum(seconds[:20]) + 6 * 0.02
        assert server.calls == 32
        # One that was made before does not tell its duration.
        lines = [json.loads(line) for line in cache.read_bytes().splitlines()]
        lines[0].pop("seconds")
        cache.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        assert duration_of_a_run(server) is None
        assert server.calls == 32


def test_run_files_load_score_and_tell_where_they_come_from(tmp_path: Path) -> None:
    source = tmp_path / "data"
    source.mkdir()
    for n, conversation in enumerate(load("demo")[:2]):
        (source / f"conversation_{n}.json").write_bytes(conversation.to_json())
    conversations = load(source)
    with ModelServer() as server:
        run(server, conversations, tmp_path / "runs")
    runs = load_runs(tmp_path / "runs")
    assert {one.source_file for one in runs} == {"conversation_0.json", "conversation_1.json"}
    assert [issue for issue in runs.found if issue.severity == "error"] == []
    assert score(conversations, runs).values.height == 2


def test_several_modes_are_several_files(demo: list[Conversation], tmp_path: Path) -> None:
    modes = [AttuneBenchSettings("m", mode) for mode in ("default", "omniscient")]
    with ModelServer() as server:
        assert run(server, demo[:2], tmp_path, modes).finished == 4
    assert sorted(one.mode for one in load_runs(tmp_path)) == ["default", "default", "omniscient", "omniscient"]


# Going on.


def test_a_finished_conversation_is_not_asked_again(demo: list[Conversation], tmp_path: Path) -> None:
    with ModelServer() as server:
        run(server, demo[:2], tmp_path)
        stamps = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")}
        sent = server.calls
        again = run(server, demo[:3], tmp_path)
        assert server.calls == sent + planned(demo[2:3])
    assert (again.finished, again.earlier) == (3, 2)
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items())


@pytest.mark.parametrize(
    ("changed", "options"),
    [
        ({"seed": 1}, {}),
        *(
            pytest.param(changed, {}, marks=pytest.mark.slow)
            for changed in ({"temperature": None}, {"model": "vendor/other"}, {"mode": "verbose"}, {"max_tokens": 100})
        ),
        ({}, {"provider": "prime"}),
    ],
)
def test_a_changed_parameter_reuses_no_answer(
    changed: Json, options: Json, demo: list[Conversation], tmp_path: Path
) -> None:
    settings = replace(SETTINGS, **changed)
    with ModelServer() as server:
        run(server, demo[:1], tmp_path)
        run(server, demo[:1], tmp_path, settings, replace=True, **options)
        assert server.calls == planned(demo[:1]) + planned(demo[:1], settings)


@pytest.mark.slow
def test_a_server_that_has_moved_is_asked_nothing_again(
    demo: list[Conversation], tmp_path: Path, run_files: RunFiles
) -> None:
    with ModelServer() as one, ModelServer() as other:
        run(one, demo[:1], tmp_path / "here")
        before = run_files(tmp_path / "here")
        assert run(other, demo[:1], tmp_path / "here").earlier == 1
        for path in (tmp_path / "here").glob("[!._]*.json"):
            path.unlink()
        run(other, demo[:1], tmp_path / "here")
        assert other.calls == 0
        assert run_files(tmp_path / "here") == before
        run(other, demo[:1], tmp_path / "there")
    assert run_files(tmp_path / "there") == before, "nothing in a file depends on where the server is"


@pytest.mark.slow
def test_another_judge_costs_only_its_own_calls(demo: list[Conversation], tmp_path: Path) -> None:
    with ModelServer() as server:
        run(server, demo[:1], tmp_path)
        sent = server.calls
        other = AttuneBenchSettings("vendor/model", judges=("judge/two",))
        run(server, demo[:1], tmp_path, other, replace=True)
        assert {body["model"] for body in server.bodies[sent:]} == {"judge/two"}
    (made,) = load_runs(tmp_path)
    assert set(made.turns[0].em_draft_judge_scores_by_model) == {"judge/two"}


def test_another_strategy_asks_the_last_question_again(demo: list[Conversation], tmp_path: Path) -> None:
    with ModelServer() as server:
        run(server, demo[:1], tmp_path)
        sent = server.calls
        run(
            server,
            demo[:1],
            tmp_path,
            AttuneBenchSettings("vendor/model", judges=("judge/one",), panas_strategy="delta"),
            replace=True,
        )
        assert server.calls == sent + 1


def test_a_conversation_that_changed_is_run_again(demo: list[Conversation], tmp_path: Path) -> None:
    last = demo[0].turns[-1].model_copy(update={"user_message": "Another message."})
    changed = demo[0].model_copy(update={"turns": (*demo[0].turns[:-1], last)})
    with ModelServer() as server:
        run(server, demo[:1], tmp_path)
        sent = server.calls
        assert run(server, [changed], tmp_path).earlier == 0
        # The last turn and the whole; earlier turns are as they were.
        assert server.calls == sent + 6


def test_a_damaged_run_file_is_made_anew_from_the_cache(
    demo: list[Conversation], tmp_path: Path, run_files: RunFiles
) -> None:
    with ModelServer() as server:
        run(server, demo[:1], tmp_path)
        before, sent = run_files(tmp_path), server.calls
        (path,) = tmp_path.glob("*.json")
        path.write_bytes(path.read_bytes()[:1000])
        run(server, demo[:1], tmp_path)
        assert server.calls == sent
    assert run_files(tmp_path) == before


@pytest.mark.slow
def test_a_conversation_that_failed_is_listed_and_only_it_is_tried_again(
    demo: list[Conversation], tmp_path: Path
) -> None:
    text = demo[1].turns[0].user_message
    broken = True

    def refuse(_number: int, body: Json) -> bytes | None:
        its_own = any(text in message["content"] for message in body["messages"])
        return reply("413 Too Large", json.dumps({"error": {"message": "too long"}})) if broken and its_own else None

    with ModelServer(refuse) as server:
        outcome = run(server, demo[:3], tmp_path, command="attune-bench run local vendor/model demo")
        assert (outcome.finished, outcome.stopped) == (2, None)
        (skipped,) = outcome.skipped
        assert skipped.unit_id == demo[1].id
        listed = json.loads((tmp_path / "_skipped_vendor-model.json").read_bytes())
        assert listed == {
            "model": "vendor/model",
            "command": "attune-bench run local vendor/model demo",
            "skipped": [{"unit": demo[1].id, "condition": "default", "reason": skipped.reason}],
        }
        assert "status 413 (too long)" in skipped.reason
        broken, sent = False, server.calls
        assert run(server, demo[:3], tmp_path).finished == 3
        assert server.calls == sent + planned(demo[1:2])
    assert not list(tmp_path.glob("_skipped*"))
    assert len(load_runs(tmp_path)) == 3


@pytest.mark.slow
def test_what_failed_is_listed_though_the_run_is_cancelled(demo: list[Conversation], tmp_path: Path) -> None:
    finished, failed = (conversation.turns[0].user_message for conversation in demo[:2])

    def answer(_number: int, body: Json) -> bytes | float | None:
        asked = json.dumps(body["messages"], ensure_ascii=False)
        if json.dumps(failed, ensure_ascii=False)[1:-1] in asked:
            return reply("413 Too Large", "")
        return None if json.dumps(finished, ensure_ascii=False)[1:-1] in asked else 0.2

    async def cancelled() -> None:
        over = asyncio.Event()

        def watch(meter: Meter) -> None:
            if meter.done and meter.failed:
                over.set()

        where = endpoint("local", base_url=server.url)
        task = asyncio.create_task(runner.run(TASK, demo[:8], SETTINGS, where, output=tmp_path, watch=watch))
        await asyncio.wait_for(over.wait(), 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with ModelServer(answer) as server:
        asyncio.run(cancelled())
    listed = json.loads((tmp_path / "_skipped_vendor-model.json").read_bytes())
    assert [entry["unit"] for entry in listed["skipped"]] == [demo[1].id]


# What is in the way.


def test_within_a_running_loop_a_run_says_how_it_is_awaited(demo: list[Conversation], tmp_path: Path) -> None:
    async def notebook(server: ModelServer) -> None:
        with pytest.raises(RunError, match="an event loop is running, as in a notebook; use: await run"):
            run(server, demo[:1], tmp_path)

    with ModelServer() as server:
        asyncio.run(notebook(server))
    assert server.calls == 0


def test_a_second_run_refuses_a_folder_in_use(demo: list[Conversation], tmp_path: Path) -> None:
    with ModelServer() as server, locked(tmp_path):
        with pytest.raises(RunError, match="another run is using"):
            run(server, demo[:1], tmp_path)
        assert server.calls == 0


def test_a_file_of_somebody_else_is_not_replaced(demo: list[Conversation], tmp_path: Path) -> None:
    path = tmp_path / f"{demo[0].id}_vendor_model_default.json"
    path.write_text('{"conversationId": "c"}')
    with ModelServer() as server:
        with pytest.raises(RunError, match="was not written by this runner"):
            run(server, demo[:1], tmp_path)
        assert server.calls == 0
    assert path.read_text() == '{"conversationId": "c"}'


def test_no_conversations_and_doubled_ones(demo: list[Conversation], tmp_path: Path) -> None:
    with ModelServer() as server:
        with pytest.raises(RunError, match="no conversations"):
            run(server, [], tmp_path)
        with pytest.raises(RunError, match="same file"):
            run(server, [demo[0], demo[0]], tmp_path)
        with pytest.raises(RunError, match="same file"):  # On some disks.
            run(server, [demo[0].model_copy(update={"conversation_id": name}) for name in ("c1", "C1")], tmp_path)
        assert server.calls == 0


def test_output_that_is_no_folder(demo: list[Conversation], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with ModelServer() as server, pytest.raises(RunError, match=r"file.*cannot be written"):
        run(server, demo[:1], tmp_path / "file")


def test_a_disk_that_can_only_be_read(
    demo: list[Conversation], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Any, *_: Any, **__: Any) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr("attune_bench.runner.cache.os.open", refuse)
    with ModelServer() as server:
        with pytest.raises(RunError, match=r"cache\.jsonl.*Read-only file system"):
            run(server, demo[:1], tmp_path)
        assert server.calls == 0


@pytest.mark.slow
def test_what_is_under_way_is_waited_for_where_a_run_file_cannot_be_written(
    demo: list[Conversation], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, _parts: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    with ModelServer(late) as server:
        with monkeypatch.context() as patch:
            patch.setattr("attune_bench.runner.running.write_whole", refuse)
            with pytest.raises(RunError, match=r"_default\.json: cannot be written: No space left on device"):
                run(server, demo[:6], tmp_path, concurrency=4)
        sent = server.calls
        assert (tmp_path / ".cache.jsonl").read_bytes().count(b"\n") == sent < planned(demo[:6])
        assert run(server, demo[:6], tmp_path).finished == 6
        assert server.calls == planned(demo[:6])


@pytest.mark.slow
def test_a_disk_that_fills_up_stops_the_run_and_keeps_the_cache(
    demo: list[Conversation], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room, write = 20_000, os.write

    def into_the_room(file: int, data: Any) -> int:
        nonlocal room
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = write(file, bytes(data)[:room])
        room -= written
        return written

    with ModelServer() as server:
        with monkeypatch.context() as patch:
            patch.setattr("attune_bench.runner.cache.os.write", into_the_room)
            with pytest.raises(RunError, match=r"No space left on device.*the same command goes on"):
                run(server, demo[:4], tmp_path, concurrency=4)
        kept = (tmp_path / ".cache.jsonl").read_bytes()
        assert 0 < len(kept) < 20_000
        assert all(json.loads(line) for line in kept.splitlines())
        # Nothing was sent any more once the disk was full but what was under way.
        sent = server.calls
        assert sent <= kept.count(b"\n") + 4
        assert run(server, demo[:4], tmp_path).finished == 4
        assert server.calls == sent + planned(demo[:4]) - kept.count(b"\n")
