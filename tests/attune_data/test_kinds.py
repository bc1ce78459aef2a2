"""Every kind of record is complete: it loads, is recognised, is told from the others, has tables, a card and a page."""

import json
import re
import tomllib
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import datasets
import polars as pl
import pytest
from drawn import drawn, richest
from hub_server import HubServer
from polars.testing import assert_frame_equal

import attune_data.kinds
from attune_data import (
    Collection,
    Kind,
    SourceError,
    describe,
    description_text,
    load,
    load_records,
    load_runs,
    load_tables,
    recognise,
    show,
)
from attune_data.codebook import codebook_folder
from attune_data.kinds import CONVERSATION, EPISODE, KINDS, RUN, kind_of
from attune_data.licences import licences
from attune_data.publishing import dataset_card
from attune_data.record import SnakeCaseRecord
from attune_data.references import resolve

Json = dict[str, Any]

ROOT = Path(__file__).parents[2]
RULES = re.findall(r"`([a-z0-9-]+)`", (ROOT / "docs/issues.md").read_text(encoding="utf-8"))

NO_BENCHMARK = {
    "run": "whoever ran the model has made it",
    "comparison": "whoever judged has made it",
}


def loader_of(kind: Kind[Any, Any]) -> Callable[..., Any]:
    """Return the public function that loads a kind."""
    own: Callable[..., Any] = getattr(attune_data, kind.loader)
    return partial(own, kind=kind) if own is load_records else own


every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.noun)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return by kind a JSONL file of three documents."""
    folder = tmp_path_factory.mktemp("kinds")
    paths = {}
    for kind in KINDS:
        paths[kind.noun] = folder / f"{kind.noun}.jsonl"
        paths[kind.noun].write_text("".join(json.dumps(document) + "\n" for document in drawn(kind)))
    return paths


def test_kinds_are_told_apart() -> None:
    for attribute in ("noun", "plural", "model", "collection"):
        assert len({getattr(kind, attribute) for kind in KINDS}) == len(KINDS), attribute
    own = [kind.loader for kind in KINDS if kind.loader != "load_records"]
    assert len({*own}) == len(own)
    assert KINDS[0] is CONVERSATION
    exported = (getattr(attune_data.kinds, name) for name in attune_data.kinds.__all__)
    assert {*map(id, KINDS)} == {id(one) for one in exported if isinstance(one, Kind)}


def test_the_name_of_a_kind_is_its_noun_which_no_installed_kind_may_take() -> None:
    assert all(getattr(attune_data.kinds, kind.noun.upper()) is kind for kind in KINDS)


@every_kind
def test_an_entry_is_complete(kind: Kind[Any, Any]) -> None:
    assert kind.keys
    assert kind.columns
    assert "id" in kind.shown or kind.overview
    assert (ROOT / "docs" / str(kind.docs)).is_file()
    assert callable(loader_of(kind))
    assert issubclass(kind.collection, Collection)  # type: ignore[arg-type]  # a class, as every entry's is
    assert kind.collection(()).kind is kind
    assert kind.demo is not None
    assert kind.documents is None or callable(resolve(kind.documents))


@every_kind
def test_the_licence_of_a_kind_is_that_of_its_benchmark(kind: Kind[Any, Any]) -> None:
    known = tomllib.loads((codebook_folder() / "publishing.toml").read_text(encoding="utf-8"))["benchmarks"]
    named = [name for name, row in known.items() if kind.model.__name__ in row["records"]]
    assert len(named) == (kind.noun not in NO_BENCHMARK)


@every_kind
def test_the_demo_loads_without_an_issue_and_comes_back_equal(kind: Kind[Any, Any], tmp_path: Path) -> None:
    demo = load_records("demo", kind)
    assert len(demo) >= 3
    assert demo.found == ()
    assert type(demo) is kind.collection
    assert list(loader_of(kind)("demo")) == list(demo)
    demo.to_jsonl(tmp_path / "demo.jsonl")
    demo.to_parquet(tmp_path / "demo")
    for source in (tmp_path / "demo.jsonl", tmp_path / "demo"):
        again = load_records(source)
        assert (type(again), list(again), again.found) == (kind.collection, list(demo), ())


@every_kind
def test_its_loader_gives_what_the_general_one_gives(kind: Kind[Any, Any], written: dict[str, Path]) -> None:
    path = written[kind.noun]
    own, general, told = loader_of(kind)(path), load_records(path), load_records(path, kind)
    assert type(own) is type(general) is type(told) is kind.collection
    assert list(own) == list(general) == list(told)
    assert (len(own), own.found) == (3, ())


@every_kind
def test_a_record_is_shown_and_a_collection_described(kind: Kind[Any, Any], written: dict[str, Path]) -> None:
    loaded = load_records(written[kind.noun], kind)
    for record in loaded:
        assert kind_of(record) is kind
        text = show(record, columns=60)
        assert all(character.isprintable() or character == "\n" for character in text)
        assert max(map(len, text.splitlines())) <= 60
        assert len(text.splitlines()) > 2
    counts = describe(loaded)
    assert counts[kind.plural] == 3
    assert all(sum(row[kind.plural] for row in values.values()) >= 3 for values in counts["traits"].values())
    assert description_text(counts).startswith(f"3 {kind.plural}")
    assert max(map(len, description_text(counts).splitlines())) <= 100
    assert kind.plural in repr(loaded)
    assert all(heading in loaded._repr_html_() for heading in [*kind.shown][:7])
    assert description_text(describe(loaded[:0])).startswith(f"0 {kind.plural}")


@every_kind
def test_demo_means_the_same_everywhere(kind: Kind[Any, Any]) -> None:
    demo = load_records("demo", kind)
    tables = load_tables("demo", kind.tables)
    assert type(tables) is type(demo.tables)
    for (name, frame), (again, own) in zip(tables._frames(), demo.tables._frames(), strict=True):
        assert name == again
        assert_frame_equal(frame, own)


@every_kind
def test_what_is_counted_is_asked_for_by_the_same_name(kind: Kind[Any, Any]) -> None:
    demo = load_records("demo", kind)
    for trait, counted in describe(demo)["traits"].items():
        assert {name: len(part) for name, part in demo.stratify(trait).items()} == {
            name: sizes[kind.plural] for name, sizes in counted.items()
        }


@every_kind
def test_results_are_shown_with_the_record_that_they_are_of(kind: Kind[Any, Any]) -> None:
    results = load_records("demo", kind)
    of = kind.of
    if of is None:
        return
    whose = next(other for other in KINDS if of(results[0]) in load_records("demo", other))
    record = load_records("demo", whose)[of(results[0])]
    text = show(record, results, columns=80)
    own = [result for result in results if of(result) == record.id]
    assert len(own) > 1
    assert text.startswith(show(record, columns=80).partition("\n")[0])
    assert all(result.id.removeprefix(f"{record.id}/") in text for result in own)
    assert all(character.isprintable() or character == "\n" for character in text)
    assert max(map(len, text.splitlines())) <= 80
    with pytest.raises(ValueError, match=f"none of {len(results) - len(own)} {kind.plural} is of"):
        show(record, [result for result in results if result not in own])
    with pytest.raises(ValueError, match="cannot match"):
        show(record, [record])


TALKS: Mapping[str, tuple[Json, list[tuple[str, str]]]] = {
    "conversation": (
        {
            "conversationId": "c",
            "turns": [
                {"turnNumber": 1, "userMessage": "I did it!", "llmResponse": "Well done."},
                {"turnNumber": 2, "userMessage": "Bye.", "llmResponse": None},
            ],
        },
        [("user", "I did it!"), ("assistant", "Well done."), ("user", "Bye."), ("assistant", "")],
    ),
    "episode": (
        {
            "profile_id": "s",
            "model": "m",
            "history": [
                {"role": "defender", "content": "Hello.", "thinking": "Careful."},
                {"role": "aggressor", "content": "Go away.", "meta": {"anger": 60, "trust": 20}},
            ],
        },
        [("assistant", "Hello."), ("user", "Go away.")],
    ),
    "dialogue": (
        {
            "id": "s",
            "emo_point": 40,
            "history": [
                {"role": "user", "content": "I lost it.", "thinking": "Will it see?"},
                {"role": "assistant", "content": "What did you lose?", "think": "Ask."},
            ],
        },
        [("user", "I lost it."), ("assistant", "What did you lose?")],
    ),
    "chatlog": (
        {
            "prompt_id": "p",
            "category": "c",
            "evaluated_model": "m",
            "transcript": [{"role": "user", "content": "37 again."}, {"role": "assistant", "content": "A number."}],
        },
        [("user", "37 again."), ("assistant", "A number.")],
    ),
    "transcript": (
        {
            "scenario_id": "s",
            "test_model": "m",
            "conversation_history": [
                {"role": "system", "content": "Play."},
                {"role": "user", "content": "Hello."},
                {"role": "assistant", "content": "Good evening."},
            ],
        },
        [("user", "Hello."), ("assistant", "Good evening.")],
    ),
}


def test_the_messages_of_a_dialogue() -> None:
    assert {kind.noun for kind in KINDS if kind.messages} == TALKS.keys()
    for kind in KINDS:
        if kind.messages:
            document, said = TALKS[kind.noun]
            assert kind.messages(kind.model.model_validate(document)) == said


# Recognition.


def _packed(path: Path, file: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(file, file.name)
    return path


@every_kind
def test_a_kind_is_recognised_in_every_source(
    kind: Kind[Any, Any], written: dict[str, Path], hub: HubServer, tmp_path: Path
) -> None:
    path = written[kind.noun]
    lines = path.read_bytes().splitlines()
    (tmp_path / "one").mkdir()
    for number, line in enumerate(lines):
        (tmp_path / "one" / f"{number}.json").write_bytes(line)
    load_records(path).to_parquet(tmp_path / "parquet")
    hub.add("lab/data", {path.name: path.read_bytes()})
    rows = datasets.Dataset.from_dict({"record": [line.decode() for line in lines]})
    packed = _packed(tmp_path / "a.zip", path)
    sources: list[Any] = [path, tmp_path / "one", packed, tmp_path / "parquet", "hf://lab/data", rows]
    assert [recognise(source) for source in sources] == [kind] * len(sources)
    assert [len(load_records(source)) for source in sources] == [3] * len(sources)


@pytest.mark.slow
def test_the_demo_is_of_the_kind_that_is_asked_for_or_conversations() -> None:
    assert recognise("demo") is CONVERSATION
    assert load_records("demo", RUN)[0] == load_runs("demo")[0]
    assert load_records("demo", EPISODE)[0].model == "synthetic/attentive"


def test_only_the_first_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(100):
        (tmp_path / f"{number:03}.json").write_text("{}" if number < 5 else '{"profile_id": "s"}')
    opened: list[str] = []
    whole = Path.open

    def open_(path: Path, *args: Any, **kwargs: Any) -> Any:
        opened.append(path.name)
        return whole(path, *args, **kwargs)

    monkeypatch.setattr(Path, "open", open_)
    assert recognise(tmp_path) is EPISODE
    assert opened == [f"{number:03}.json" for number in range(6)]


def test_a_run_that_records_a_participant_is_a_run(run: Json, conversation: Json, tmp_path: Path) -> None:
    # It has keys of both; more of them are fields of a run.
    both = {**run, "participant_profile": conversation["participant_profile"]}
    (tmp_path / "1.json").write_text(json.dumps(both))
    assert recognise(tmp_path / "1.json") is RUN
    assert len(load_records(tmp_path / "1.json")) == len(load(tmp_path / "1.json")) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": 1}', r"1\.json is of no known kind: none of conversations, runs, scenarios, .* is"),
        ('[{"turns": []}]', r"1\.json: a list; expected one record a file, or one a line in a \.jsonl file$"),
        ("12", r"1\.json: not an object but 12$"),
        ("", r"1\.json: the file is empty$"),
        ("[" * 100_000, r"1\.json: nested too deeply to be a record$"),
        # The comma in the second line is followed by nothing.
        ('{\n"turns": [],', r"1\.json: not JSON at line 2, column 13: .*; is the file cut off\?$"),
        ('{"turns": [}', r"1\.json: not JSON at column 12: Expecting value$"),
        ('{"conversations": [], "aggregates": []}', "it is a file of scores; attune-bench report reads it"),
        ('{"overall": {}, "by_scene": {}}', "it is a summary of episodes; load_episodes reads the results.jsonl"),
    ],
)
def test_what_is_of_no_kind(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text(content)
    for ask in (recognise, load_records):
        with pytest.raises(SourceError, match=message):
            ask(tmp_path / "1.json")


def test_what_is_passed_over_may_be_the_records(tmp_path: Path) -> None:
    (tmp_path / "dataset_infos.json").write_text('{"default": {}}')
    load_runs("demo").to_jsonl(tmp_path / "runs.jsonl")
    message = "is among its records; 1 file is not read here: runs.jsonl$"
    with pytest.raises(SourceError, match=message):
        recognise(tmp_path)


# The wrong kind.


@pytest.mark.parametrize("asked", KINDS, ids=lambda kind: f"asked for {kind.noun}")
@pytest.mark.parametrize("given", KINDS, ids=lambda kind: f"given {kind.noun}")
def test_another_kind_is_one_line_that_says_what_reads_it(
    asked: Kind[Any, Any], given: Kind[Any, Any], written: dict[str, Path], tmp_path: Path
) -> None:
    if asked is given:
        return
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "data.jsonl").write_bytes(written[given.noun].read_bytes())
    (folder / "broken.jsonl").write_text("{")
    loader = loader_of(asked)
    for options in ({}, {"on_error": "raise"}):
        with pytest.raises(SourceError) as raised:
            loader(folder, **options)
        assert str(raised.value) == (
            f"{folder} contains 3 {given.plural} and no {asked.noun}; {given.loader} reads {given.plural}"
        )


def test_files_beside_records_are_named(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text('{"overall": {}, "by_scene": {}}')
    (tmp_path / "scores.json").write_text('{"conversations": [], "aggregates": []}')
    with pytest.raises(SourceError) as raised:
        load(tmp_path)
    assert str(raised.value) == (
        f"{tmp_path} contains a file of scores and a summary of episodes and no conversation;"
        " attune-bench report reads it, load_episodes reads the results.jsonl beside it"
    )


def test_a_mixed_folder_is_reported_file_by_file(written: dict[str, Path], tmp_path: Path) -> None:
    for kind in (CONVERSATION, EPISODE):
        (tmp_path / f"{kind.noun}.jsonl").write_bytes(written[kind.noun].read_bytes())
    loaded = load(tmp_path)
    assert len(loaded) == 3
    messages = [(issue.file, issue.message) for issue in loaded.found]
    wrong = "not a conversation; is it an episode, which load_episodes reads?"
    assert messages == [(f"episode.jsonl:{line}", wrong) for line in (1, 2, 3)]


def test_a_broken_record_of_the_kind_is_no_other_kind(tmp_path: Path) -> None:
    lines = ['{"conversationId": 5, "turns": {}}', '{"profile_id": "s", "model": "m"}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    loaded = load(tmp_path / "a.jsonl")
    assert [issue.rule for issue in loaded.found if issue.severity == "error"] == ["invalid-value", "not-a-record"]


# Tables and cards.


@every_kind
def test_tables_have_their_schemas_and_come_back_without_the_records(
    kind: Kind[Any, Any], written: dict[str, Path], tmp_path: Path
) -> None:
    loaded = load_records(written[kind.noun], kind)
    loaded.to_parquet(tmp_path / "written")
    loaded.tables.to_parquet(tmp_path / "alone")
    (tmp_path / "written" / "records.parquet").unlink()
    for folder in (tmp_path / "written", tmp_path / "alone"):
        again = load_tables(folder, kind.tables)
        assert type(again) is type(loaded.tables) is kind.tables
        assert repr(again) == repr(loaded.tables)
        for name, schema in kind.tables.schemas().items():
            frame: pl.DataFrame = getattr(again, name)
            assert dict(frame.schema) == schema
            assert_frame_equal(frame, getattr(loaded.tables, name))
    assert loaded.tables.unit.keys == tuple(key for key in loaded.tables.unit.keys if key in loaded.tables._traits())


@pytest.mark.slow
def test_a_written_folder_is_read_when_asked_for_and_queried(tmp_path: Path) -> None:
    demo = load("demo")
    demo.to_parquet(tmp_path / "out")
    tables = load_tables(tmp_path / "out")
    (tmp_path / "out" / "panas.parquet").write_bytes(b"damaged")
    assert len(tables.where(diagnosis="ADHD")) == 8
    assert tables.where(diagnosis="ADHD").binary.equals(demo.tables.where(diagnosis="ADHD").binary)
    with pytest.raises(SourceError, match=r"panas\.parquet cannot be read"):
        _ = tables.panas


@pytest.mark.slow
def test_joined_tables_come_back(tmp_path: Path) -> None:
    joined = load_runs("demo").joined(load("demo"))
    joined.to_parquet(tmp_path / "out")
    for again in (load_tables(tmp_path / "out"), load_tables(tmp_path / "out", attune_data.RunTables)):
        assert repr(again) == repr(joined)
        assert_frame_equal(again.pairwise, joined.pairwise)
    with pytest.raises(SourceError, match=r"has the tables of RunTables: load_tables\(folder, RunTables\)"):
        load_tables(tmp_path / "out", attune_data.EpisodeTables)
    with pytest.raises(SourceError, match="demo is not a folder with the tables of RunTables, as to_parquet writes"):
        load_tables("demo", attune_data.RunTables)


@every_kind
def test_tables_that_were_written_say_what_loads_them(kind: Kind[Any, Any], tmp_path: Path) -> None:
    given = load_records("demo", kind)
    given.to_parquet(tmp_path / "out")
    other = attune_data.EpisodeTables if kind is CONVERSATION else attune_data.Tables
    with pytest.raises(SourceError) as refused:
        load_tables(tmp_path / "out", other)
    named = str(refused.value).rpartition("(folder, ")[2].removesuffix(")")
    frames = attrgetter(named.removeprefix("attune_data."))(attune_data)
    assert repr(load_tables(tmp_path / "out", frames)) == repr(given.tables)


@every_kind
def test_a_card_says_what_every_column_means(kind: Kind[Any, Any], written: dict[str, Path]) -> None:
    loaded = load_records(written[kind.noun], kind)
    frames = {name: frame.lazy() for name, frame in loaded._frames()}
    card = str(dataset_card("lab/data", kind, loaded, frames, licences()["mit"], ()))
    assert f'{kind.loader}("hf://lab/data")' in card
    assert f"3 {kind.plural}" in card
    assert ("do not train" in card) == (kind.request is not None)
    fields = card.partition("## Fields")[2]
    for name, frame in frames.items():
        section = fields.partition(f"### `{name}`")[2].partition("###")[0]
        rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+) \|$", section, re.MULTILINE)
        assert [column for column, _, _ in rows] == list(frame.collect_schema()), name
        assert all(len(meaning) > 5 for _, _, meaning in rows), name


@every_kind
def test_its_rules_are_documented(kind: Kind[Any, Any], tmp_path: Path) -> None:
    document = richest(kind)
    odd: list[Any] = [None, "x", -1, []]
    seen = set()
    for key in document:
        for value in odd:
            path = tmp_path / "one.json"
            path.write_text(json.dumps({**document, key: value}))
            try:
                seen |= {issue.rule for issue in load_records(path, kind).found}
            except SourceError:
                continue
    assert len(seen) > 2
    assert seen <= {*RULES}


# A kind of one's own.


class Post(SnakeCaseRecord):
    """A post of a forum."""

    post_id: str
    text: str | None = None

    @property
    def id(self) -> str:
        """The post's id."""
        return self.post_id


class Posts(Collection[Post]):
    """Posts of a forum."""

    @property
    def kind(self) -> "Kind[Post, Posts]":
        """What the records are."""
        return POST


POST: Kind[Post, Posts] = Kind(
    noun="post", plural="posts", model=Post, collection=Posts, keys=frozenset(("post_id",)), columns=("post_id",)
)


def test_a_kind_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "posts.jsonl"
    rows: list[Json] = [
        {"post_id": "a", "text": "Hello."},
        {"post_id": "b", "more": 1},
        {"post_id": "a"},
        {"post_id": []},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    posts = load_records(path, POST)
    assert [(post.id, post.text) for post in posts] == [("a", "Hello."), ("b", None)]
    assert [(issue.file, issue.rule, issue.message) for issue in posts.found] == [
        ("posts.jsonl:3", "duplicate-record", "posts.jsonl:1 has the same id, and counts"),
        ("posts.jsonl:4", "invalid-value", "expected text"),
    ]
    assert repr(posts[1:]) == "<Collection of 1 post, 2 errors>"
    assert describe(posts)["posts"] == 2
    assert POST.transcript(posts[0], 40) == "Post a\n  post_id       a\n  text          Hello."
    posts.to_jsonl(tmp_path / "again.jsonl")
    assert list(load_records(tmp_path / "again.jsonl", POST)) == list(posts)
    assert [post.id for post in posts | posts[:1]] == ["a", "b"]
    assert posts.tables.posts.rows() == [("a", "a", "Hello."), ("b", "b", None)]  # type: ignore[attr-defined]
    assert [post.id for post in posts.where(text="Hello.")] == ["a"]
    load("demo").to_jsonl(tmp_path / "c.jsonl")
    with pytest.raises(SourceError, match="contains 40 conversations and no post; load reads conversations"):
        load_records(tmp_path / "c.jsonl", POST)
    with pytest.raises(TypeError, match="Post is of no known kind; expected one of Conversation, Run, Scenario"):
        show(posts[0])
