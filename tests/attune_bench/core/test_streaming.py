"""Scoring while reading: the scores and issues of reading all and then scoring, in one process or several."""

import json
import pickle
import subprocess
import sys
from collections.abc import Sequence
from functools import reduce
from math import inf, nan
from operator import or_
from pathlib import Path
from time import sleep
from typing import Any

import polars as pl
import pytest
from reading import wait_for

from attune_bench import Scores, score
from attune_bench.benchmarks import BENCHMARKS, benchmark_named
from attune_bench.scores.provenance import digest, group_settings
from attune_bench.scores.table import table_of
from attune_bench.verbs.streaming import PackedRecords, Streamed, stream
from attune_bench.verbs.workers import Workers
from attune_data import Conversation, Run, SourceError, load, load_runs
from attune_data.collection import first_counts
from attune_data.references import resolve

Json = dict[str, Any]
ATTUNEBENCH = benchmark_named("attunebench")


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """Return a file of conversations, one of them twice, and sources of runs with every kind of mistake."""
    folder = tmp_path_factory.mktemp("sources")
    conversations, runs = load("demo")[:6], load_runs("demo")
    lines = [one.to_line() for one in (*conversations, conversations[2])]
    (folder / "data.jsonl").write_bytes(b"\n".join(lines))
    ids = {conversation.id for conversation in conversations}
    known = [json.loads(run.to_line()) for run in runs if run.conversation_id in ids]
    later = {**known[0], "run_timestamp": "2027-01-01T00:00:00Z", "turns": known[0]["turns"][:2]}
    odd = [
        {**known[1], "conversationId": "nobody"},
        {**known[2], "em_model": "vendor/strangers", "turns": [{**known[2]["turns"][0], "turnNumber": 99}]},
        {**known[3], "em_model": "vendor/old", "mode": "Verbose"},
        {**known[4], "em_model": "vendor/broken", "turns": 5},
        {"of": "another kind"},
    ]
    # More than the documents that are read at a time, and from another source some of them again.
    (folder / "many.jsonl").write_bytes(b"\n".join(json.dumps(one).encode() for one in (known * 12)[:140] + odd))
    again = folder / "again"
    again.mkdir()
    for place, one in enumerate((later, known[1], {**known[5], "mode": "omniscient"})):
        (again / f"run_{place}.json").write_text(json.dumps(one))
    # The same content but for what is absent, or another number of the same value.
    for place, one in enumerate(({**known[6], "api_cost": None}, {**known[7], "turns": [*known[7]["turns"]]})):
        (again / f"same_{place}.json").write_text(json.dumps(one))
    (again / "cut.json").write_text(json.dumps(known[6])[:-10])
    return folder / "data.jsonl", [folder / "many.jsonl", again]


def streamed(data: Path, results: Sequence[Path], **options: Any) -> Streamed:
    progress = (int, int)
    return stream("attunebench", data, results, check=lambda *_: None, progress=progress, **options)


def written(scores: Scores, folder: Path) -> tuple[bytes, bytes]:
    scores.write(folder / "scores.json")
    scores.write(folder / "scores.parquet")
    return (folder / "scores.json").read_bytes(), (folder / "scores.parquet").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "jobs"),
    [
        *(("documented", 1), ("released", 2)),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (("documented", 2), ("documented", None), ("released", 1), ("released", None))
        ),
    ],
)
def test_the_scores_are_those_of_reading_all_first(
    sources: tuple[Path, list[Path]], tmp_path: Path, protocol: str, jobs: int | None
) -> None:
    data, results = sources
    conversations, runs = load(data), reduce(or_, map(load_runs, results))
    found = streamed(data, results, jobs=jobs, protocol=protocol)
    assert written(Scores.of(table_of(found.scores)), tmp_path) == written(
        score(conversations, runs, protocol=protocol), tmp_path
    )
    assert found.data.found == conversations.found
    assert found.results.found == runs.found
    assert found.results.files == runs.files
    assert [run.key for run in found.results] == [run.key for run in runs]
    rules = {issue.rule for issue in (*found.results.found, *found.scores.provenance.issues)}
    assert {"duplicate-run", "invalid-json", "not-a-record", "run-without-conversation", "no-shared-turn"} <= rules


def test_what_is_kept_has_no_content(sources: tuple[Path, list[Path]]) -> None:
    found = streamed(*sources, jobs=1)
    assert not any(run.turns or run.post_conversation for run in found.results)
    assert not any(conversation.turns for conversation in found.data)


@pytest.mark.slow
def test_a_source_of_another_kind_is_refused_as_in_loading(sources: tuple[Path, list[Path]]) -> None:
    data, results = sources
    with pytest.raises(SourceError) as plain:
        load_runs(data)
    with pytest.raises(SourceError) as found:
        streamed(data, [*results, data], jobs=2)
    assert str(found.value) == str(plain.value)
    with pytest.raises(SourceError) as plain:
        load(results[1])
    with pytest.raises(SourceError) as found:
        streamed(results[1], results)
    assert str(found.value) == str(plain.value)


@pytest.mark.slow
def test_a_source_without_any_result_is_as_in_loading(sources: tuple[Path, list[Path]], tmp_path: Path) -> None:
    data, results = sources
    empty = tmp_path / "empty.parquet"
    pl.DataFrame({"record": []}, schema={"record": pl.String}).write_parquet(empty)
    loaded = load_runs(empty)
    found = streamed(data, [empty])
    assert (len(found.results), found.results.found) == (0, loaded.found)
    both = streamed(data, [results[0], empty])
    assert len(both.results) == len(load_runs(results[0]))


def test_a_setting_that_is_no_plain_value_is_recorded_as_a_text() -> None:
    first, second, *_ = load_runs("demo")
    runs = [first.model_copy(update={"temperature": nan}), second.model_copy(update={"temperature": -inf})]
    [settings] = score(load("demo"), runs).provenance.settings
    assert settings.settings["temperature"] == ("-inf", "nan")
    [settings] = group_settings([("vendor/model", None, {"seed": [1], "simulator_temperature": nan})])
    assert settings.settings == {"seed": ("[1]",), "simulator_temperature": ("nan",)}


@pytest.mark.slow
def test_equal_settings_are_recorded_as_they_are_first() -> None:
    runs = [
        run.model_copy(update={"temperature": 0.0 if place % 3 else 0}) for place, run in enumerate(load_runs("demo"))
    ]
    found = {repr(score(load("demo"), runs).provenance.settings) for _ in range(3)}
    assert len(found) == 1
    assert "'temperature': (0,)" in found.pop()


def test_a_conversation_without_turns_has_no_chance_values(tmp_path: Path) -> None:
    conversations, runs = load("demo")[:2], load_runs("demo")
    empty = conversations[0].model_copy(update={"turns": ()})
    (tmp_path / "data.jsonl").write_bytes(b"\n".join(one.to_line() for one in (empty, conversations[1])))
    own = [run for run in runs if run.conversation_id in {one.id for one in conversations}]
    (tmp_path / "runs.jsonl").write_bytes(b"\n".join(run.to_line() for run in own))
    scores = streamed(tmp_path / "data.jsonl", [tmp_path / "runs.jsonl"], jobs=1).scores
    assert {*scores.values["unit"]} == {conversations[1].id}
    assert "no-shared-turn" in {issue.rule for issue in scores.provenance.issues}


def test_progress_counts_the_documents(sources: tuple[Path, list[Path]]) -> None:
    data, results = sources
    counts: tuple[list[int], list[int]] = ([], [])
    progress = (counts[0].append, counts[1].append)
    stream("attunebench", data, results, jobs=1, check=lambda *_: None, progress=progress)
    assert counts == ([1, 2, 3, 4, 5, 6, 7], [128, 145, 151])


def test_a_check_comes_before_the_work(sources: tuple[Path, list[Path]]) -> None:
    data, results = sources
    seen = []

    def check(kind: Any, names: Any, found: Any) -> None:
        seen.append((kind.plural, list(names), len(found)))
        raise SourceError("no")

    with pytest.raises(SourceError, match=r"^no$"):
        stream("attunebench", data, results, check=check, progress=(int, int))
    assert seen == [("conversations", [data], 6)]


def test_packed_records_are_equal_and_the_first_of_an_id_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attune_bench.verbs.streaming._MOST_UNPACKED", 3)
    conversations = load("demo")
    packed = PackedRecords(Conversation)
    for conversation in conversations:
        packed.add(conversation)
    packed.add(conversations[0].model_copy(update={"turns": ()}))
    assert list(packed) == [conversation.id for conversation in conversations]
    for one in (packed, pickle.loads(pickle.dumps(packed))):  # noqa: S301 - of our own; all are packed
        assert [one[conversation.id] for conversation in conversations] == list(conversations)
        assert [one.digest(key) for key in one] == [digest(conversation).hex() for conversation in conversations]
    assert packed[conversations[0].id] is conversations[0]
    assert packed[conversations[5].id] is not conversations[5]
    assert "nobody" not in packed


@pytest.mark.parametrize("benchmark", [one for one in BENCHMARKS if one.streaming], ids=lambda one: one.name)
def test_what_a_benchmark_that_streams_leaves_out_is_not_needed(benchmark: Any) -> None:
    """Records without content cannot be placed, or checked together; of data the first of a key counts."""
    data, results = resolve(benchmark.data), resolve(benchmark.results)
    for kind in (data, results):
        assert kind.place is None
        assert kind.check_all is None
    assert data.duplicate is first_counts


# Other processes.


def test_a_process_that_is_killed_changes_nothing(tmp_path: Path) -> None:
    def work(task: int) -> int:
        wait_for((tmp_path / "killed").exists)
        return task * task

    with Workers[int, int](2, "worker_tasks:killing") as workers:
        assert list(workers.map(work, (str(tmp_path),), range(20))) == [task * task for task in range(20)]


def test_without_a_process_that_works_this_one_does() -> None:
    def work(task: int) -> int:
        sleep(0.05)  # So that the other process has ended before the last task.
        return task

    with Workers[int, int](2, "no_such_module:name") as workers:
        assert list(workers.map(work, (), range(9))) == list(range(9))


def test_what_another_process_failed_to_do_is_done_here(tmp_path: Path) -> None:
    here: list[int] = []

    def work(task: int) -> int:
        wait_for(lambda: [*tmp_path.iterdir()])
        here.append(task)
        return task * task

    with Workers[int, int](2, "worker_tasks:failing") as workers:
        assert list(workers.map(work, (str(tmp_path),), range(9))) == [task * task for task in range(9)]
    assert sorted(here) == list(range(9))


def test_an_error_is_raised_here(tmp_path: Path) -> None:
    def work(task: int) -> int:
        wait_for(lambda: [*tmp_path.iterdir()])
        if (tmp_path / str(task)).exists():
            raise ValueError("four and three")
        return task

    with Workers[int, int](2, "worker_tasks:failing") as workers, pytest.raises(ValueError, match=r"^four and three$"):
        list(workers.map(work, (str(tmp_path),), range(9)))


def test_tasks_are_read_a_few_ahead(tmp_path: Path) -> None:
    tasks = iter(range(100))
    with Workers[int, int](2, "worker_tasks:killing") as workers:
        results = workers.map(abs, (str(tmp_path / "none"),), tasks)
        assert next(results) == 0
        assert next(tasks) < 10


def test_a_run_is_kept_by_what_tells_it_from_others() -> None:
    run = load_runs("demo")[0]
    kept = resolve(ATTUNEBENCH.streaming and ATTUNEBENCH.streaming.kept_result)
    assert isinstance(kept(run, "a"), Run)
    assert kept(run, "a") == kept(run, "a") != kept(run, "b")
    assert (kept(run, "a").key, kept(run, "a").run_timestamp) == (run.key, run.run_timestamp)


def test_a_worker_imports_no_frames() -> None:
    code = (
        "import sys; from attune_bench.verbs.streaming import part_scorer; part_scorer('attunebench', {}, {});"
        "print(sorted({'numpy', 'polars'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(("name", "imported"), [("scores.json", "[]"), ("scores.parquet", "['polars']")])
def test_scores_in_json_need_no_frames(
    sources: tuple[Path, list[Path]], tmp_path: Path, name: str, imported: str
) -> None:
    data, results = sources
    of_results = [word for source in results for word in ("--results", str(source))]
    words = ["score", *of_results, "--data", str(data), "--output", str(tmp_path / name)]
    code = (
        "import sys; from attune_bench.cli.verbs import app; app(sys.argv[1:], standalone_mode=False);"
        "print(sorted({'numpy', 'polars'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == imported
    # From frames the same bytes are written.
    score(load(data), reduce(or_, map(load_runs, results))).write(tmp_path / f"frames-{name}")
    assert (tmp_path / name).read_bytes() == (tmp_path / f"frames-{name}").read_bytes()
