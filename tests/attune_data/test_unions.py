"""Unions name what they leave out and know the whole; collections and tables can be copied and sent to a process."""

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attune_data import (
    Conversation,
    Conversations,
    Episodes,
    Issue,
    Kind,
    Run,
    Runs,
    load,
    load_episodes,
    load_records,
    load_runs,
    load_tables,
)
from attune_data.attunebench.tables import TABLES
from attune_data.issues import LEFT_OUT
from attune_data.kinds import DIALOGUE, EPISODE, RUN


def record(name: str, country: str | None = None, turns: int = 0) -> Conversation:
    profile = {"demographics": {"country": country}}
    numbered = [{"turnNumber": n + 1, "userMessage": f"message {n}"} for n in range(turns)]
    return Conversation.model_validate({"conversationId": name, "participant_profile": profile, "turns": numbered})


def test_a_union_knows_the_values_of_the_whole() -> None:
    demo = load("demo")
    family, money = demo.where(category="Family"), demo.where(category="Money")
    parts: list[Any] = [family.tables, family | money, family.tables | money.tables, (family | money).tables]
    for part in parts:
        assert len(part.where(category="Health")) == 0
        with pytest.raises(ValueError, match="no conversation has category 'Helth'; did you mean 'Health'"):
            part.where(category="Helth")
    # Of two loads: what either has held.
    peru = Conversations([record("a", "Peru"), record("b", "Chile")]).where(country="Chile")
    kenya = Conversations([record("c", "Kenya"), record("d", "Ghana")])[1:]
    for both in (peru | kenya, peru.tables | kenya.tables):
        assert (len(both), len(both.where(country=["Peru", "Kenya"])), len(both.where(country="Ghana"))) == (2, 0, 1)


def test_records_that_differ_under_one_id_are_an_issue() -> None:
    left = Conversations([record("a", "Peru"), record("b")], files={"a": "left.json"})
    right = Conversations([record("a", "Chile"), record("b"), record("c")], files={"a": "right.json"})
    both = left | right
    assert [(one.id, one.participant_profile.demographics.country) for one in both] == [
        ("a", "Peru"), ("b", None), ("c", None),
    ]  # fmt: skip
    message = "left.json has the same conversationId, and counts"
    issue = Issue("right.json", "$", "duplicate-conversation", "error", '"a"', message, "record left out")
    assert both.found == (issue,)
    assert "1 error" in repr(both)
    assert (left | left[:1]).found == ()
    assert (both | right).found == (issue,)  # said once


@pytest.mark.slow
def test_runs_that_differ_under_one_key_are_an_issue() -> None:
    runs = load_runs("demo")
    other = Runs([runs[0].model_copy(update={"turns": (), "run_timestamp": "2001-01-01"})])
    assert [(issue.rule, issue.value) for issue in (runs | other).found] == [("duplicate-run", f'"{runs[0].id}"')]
    assert (runs | other)[0] == (other | runs)[0] == runs[0]  # its timestamp is later
    truth = load("demo")
    joined = runs.joined(truth) | other.joined(truth)
    assert [(issue.rule, issue.value) for issue in joined.found] == [("duplicate-run", f'"{runs[0].id}"')]
    assert (runs.joined(truth) | runs[:3].joined(truth)).found == ()


def run(conversation: str, model: str, **changes: Any) -> dict[str, Any]:
    return {"conversationId": conversation, "em_model": model, "mode": "default", "turns": [], **changes}


def played(scenario: str, **changes: Any) -> dict[str, Any]:
    return {"profile_id": scenario, "scene_tag": "support", "model": "m", "history": [], **changes}


PAIRS: dict[str, tuple[Kind[Any, Any], list[dict[str, Any]], list[dict[str, Any]]]] = {
    # The left is later in the first, the right in the second, neither in the third.
    "runs": (
        RUN,
        [run(name, "m", run_timestamp=f"2024-01-0{day}") for name, day in (("a", 3), ("b", 1), ("c", 1))],
        [run(name, "m", run_timestamp="2024-01-02", turns=[{"turnNumber": 1}]) for name in ("a", "b", "d")]
        + [run("c", "m", run_timestamp="2024-01-01", api_cost=1)],
    ),
    # "a/b/c/default" is the id of both, and they are of two conversations and models.
    "ids that collide": (RUN, [run("a", "b/c")], [run("a/b", "c")]),
    "episodes": (
        EPISODE,
        [played("s1", error="timeout"), played("s2"), played("s3", final_anger=50)],
        [played("s1", final_anger=40), played("s2", error="timeout"), played("s3", final_anger=40)],
    ),
    "dialogues": (
        DIALOGUE,
        [{"id": "s1", "model": "m", "emo_point": 50, "history": []}],
        [{"id": "s1", "model": "m", "emo_point": 60, "history": []}],
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_two_sources_joined_are_one_folder_with_both(name: str, tmp_path: Path) -> None:
    kind, *contents = PAIRS[name]
    for file, rows in zip(("1_result.jsonl", "2_result.jsonl"), contents, strict=True):
        (tmp_path / file).write_text("".join(json.dumps(row) + "\n" for row in rows))
    first, second = (load_records(tmp_path / f"{number}_result.jsonl", kind) for number in (1, 2))
    both, folder = first | second, load_records(tmp_path, kind)
    assert list(both) == list(folder)
    assert both.files == folder.files
    assert both.found[len(first.found) + len(second.found) :] == tuple(
        issue for issue in folder.found if issue.rule == kind.duplicate_rule
    )


def test_what_counts_of_two_sources_that_are_joined(tmp_path: Path) -> None:
    for name, rows in (("old", [played("s1", error="timeout")]), ("new", [played("s1", final_anger=40)])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    old, new = (load_episodes(tmp_path / name) for name in ("old", "new"))
    assert [one.final_anger for one in (*(old | new), *(new | old))] == [40, 40]
    # Both files have one name; the issue says whose counts.
    told = {(issue.file, issue.severity, issue.message) for issue in (old | new).found if issue.consequence == LEFT_OUT}
    same = "has the same scenario, model, simulator, configuration and repeat, and counts"
    assert told == {("results.jsonl:1", "note", f"results.jsonl:1 of the source given later {same}")}
    told = {(issue.file, issue.severity, issue.message) for issue in (new | old).found if issue.consequence == LEFT_OUT}
    assert told == {("results.jsonl:1", "note", f"results.jsonl:1 of the source given before {same}")}


@pytest.mark.parametrize("changed", [record("b", "Peru", 2), record("b", turns=1), record("b", turns=3)])
def test_tables_that_differ_under_one_id_are_an_issue(changed: Conversation) -> None:
    left, right = Conversations([record("a"), record("b", turns=2)]), Conversations([record("c"), changed])
    both = left.tables | right.tables
    assert [(issue.rule, issue.severity, issue.value) for issue in both.found] == [
        ("duplicate-conversation", "error", '"b"')
    ]
    assert both.conversations["conversation_id"].to_list() == ["a", "b", "c"]
    assert both.turns.height == 2
    same = left.tables | Conversations([record("b", turns=2), record("a")]).tables
    assert same.found == ()


def test_conversations_and_runs_do_not_mix() -> None:
    conversations, runs = load("demo"), load_runs("demo")
    with pytest.raises(TypeError, match="a collection of conversations takes no Run; each kind has its own"):
        Conversations([*conversations, *runs])
    mixes: list[Callable[[], Any]] = [
        lambda: conversations | runs,  # type: ignore[operator]
        lambda: runs | conversations,  # type: ignore[operator]
    ]
    for mix in mixes:
        with pytest.raises(TypeError, match="unsupported operand"):
            mix()
    assert len(conversations[:0] | conversations) == 40

    class Own(Conversation):
        pass

    assert len(Conversations([*conversations, Own(conversation_id="own")])) == 41


@pytest.mark.parametrize("wrong", ["demo", None, ["demo"], load("demo").tables, load_runs("demo")])
def test_runs_are_joined_with_conversations_only(wrong: Any) -> None:
    with pytest.raises(TypeError, match="runs are joined with conversations"):
        load_runs("demo").joined(wrong)


def copies(kept: Any) -> list[Any]:
    return [pickle.loads(pickle.dumps(kept)), copy.deepcopy(kept), copy.copy(kept)]  # noqa: S301


@pytest.mark.parametrize(
    "part",
    [
        lambda demo: demo,
        lambda demo: demo.where(category="Family"),
        lambda demo: demo.where(category="Family") | demo.where(category="Money"),
    ],
)
def test_collections_can_be_copied(part: Callable[[Any], Any]) -> None:
    kept = part(load("demo"))
    assert kept.tables.binary.height > 0  # frames that exist are not sent along
    for twin in copies(kept):
        assert list(twin) == list(kept)
        assert (repr(twin), twin.files, twin.found) == (repr(kept), kept.files, kept.found)
        assert "tables" not in vars(twin)
        assert twin.tables.binary.equals(kept.tables.binary)
        assert len(twin.where(category="Health")) == len(kept.where(category="Health"))
    with pytest.raises(TypeError, match="does not support item assignment"):
        kept.files["a"] = "b"


@pytest.mark.slow
def test_tables_can_be_copied(tmp_path: Path) -> None:
    demo = load("demo")
    runs = load_runs("demo").joined(demo)
    demo.to_parquet(tmp_path / "written")
    sources = [demo.tables, load_tables("demo"), load_tables(tmp_path / "written"), runs]
    for tables in sources:
        family = tables.where(category="Family", n_turns=[4, 5, 6])
        for kept in (tables, family, family | tables.where(category="Money")):
            for twin in copies(kept):
                assert repr(twin) == repr(kept)
                assert all(getattr(twin, name).equals(getattr(kept, name)) for name in TABLES)
                assert len(twin.where(category="Health")) == len(kept.where(category="Health"))


def test_runs_can_be_copied() -> None:
    runs = load_runs("demo")
    for twin in copies(runs):
        assert list(twin) == list(runs)
        assert isinstance(twin[0], Run)


def test_repeats_are_not_the_same_result() -> None:
    runs, conversations = load_runs("demo")[:2], load("demo")
    again = Runs([run.model_copy(update={"repeat": 2}) for run in runs])
    once = Runs(runs)
    assert sorted((once.tables | again.tables).runs["repeat"]) == [1, 1, 2, 2]
    joined = once.joined(conversations) | again.joined(conversations)
    assert sorted(joined.conversations["repeat"]) == [1, 1, 2, 2]
    episodes = load_episodes("demo")[:2]
    later = Episodes([episode.model_copy(update={"repeat": 2}) for episode in episodes])
    assert sorted((Episodes(episodes).tables | later.tables).episodes["repeat"]) == [1, 1, 2, 2]
