"""Publishing to a Hub and loading it back, by this library and by plain `datasets`; the card; what is refused."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hub_server import CUT, HANG, TOKEN, Failure, HubServer
from huggingface_hub import DatasetCard
from slow_cases import slow_after

from attune_data import Conversation, Conversations, PublishError, Runs, load, load_runs, publish
from attune_data.attunebench.tables import TABLES, Tables

Json = dict[str, Any]

# Run after the card's own code by a process of its own, where `datasets` is imported with the environment of the test.
PLAIN = """
import sys
assert conversations.column_names[:2] == ["conversation_id", "om_model"], conversations.column_names
assert list(records) == list(load("demo"))
assert list(load(load_dataset("lab/data", "records")["test"])) == list(records)
assert load_dataset("lab/data", split="test").column_names == conversations.column_names
for name in sys.argv[2:]:
    load_dataset("lab/data", name)["test"].to_polars().write_parquet(f"{sys.argv[1]}/{name}.parquet")
"""


@pytest.fixture
def writer(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> HubServer:
    """Return the Hub, with the token that may write."""
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    return hub


def card_of(hub: HubServer, name: str = "lab/data") -> DatasetCard:
    return DatasetCard(hub.files(name)["README.md"].decode())


@pytest.mark.slow
def test_published_and_loaded_by_this_library(writer: HubServer) -> None:
    demo = load("demo")
    address = publish(demo, "lab/data", licence="cc-by-4.0")
    repository = writer.repositories["lab/data"]
    assert address == f"hf://lab/data@{repository.refs['main']}"
    assert repository.private
    # The empty commit of the new repository, and one with everything.
    assert len(repository.commits) == 2
    again = load(address)
    assert list(again) == list(demo)
    assert [record.to_json() for record in again] == [record.to_json() for record in demo]
    assert again.found == ()


def test_published_runs_come_back(writer: HubServer) -> None:
    runs = load_runs("demo")
    publish(runs, "lab/runs", licence="cc-by-4.0", private=False)
    assert not writer.repositories["lab/runs"].private
    assert list(load_runs("hf://lab/runs")) == list(runs)
    card = card_of(writer, "lab/runs")
    assert 'load_runs("hf://lab/runs")' in card.text
    assert f"{len(runs)} runs" in card.text


@pytest.mark.slow
def test_plain_datasets_loads_every_config(writer: HubServer, tmp_path: Path) -> None:
    demo = load("demo")
    publish(demo, "lab/data", licence="cc-by-4.0")
    (shown,) = re.findall(r"```python\n(.*?)```", card_of(writer).text, re.DOTALL)
    command = [sys.executable, "-c", shown + PLAIN, str(tmp_path), *TABLES, "records"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert done.returncode == 0, done.stderr[-2000:]
    for name in TABLES:
        expected: pl.DataFrame = getattr(demo.tables, name)
        assert pl.read_parquet(tmp_path / f"{name}.parquet").equals(expected.cast({pl.Enum: pl.String})), name
    records = pl.read_parquet(tmp_path / "records.parquet")
    assert [Conversation.model_validate_json(text) for text in records["record"]] == list(demo)


def test_unknown_keys_nulls_and_odd_text_come_back(
    writer: HubServer, conversation: Json, load_conversation: Callable[[Any], Conversations]
) -> None:
    conversation["metadata"]["text"] = None
    conversation["turns"][0]["userMessage"] = "\u2028--- \x00 | `</script>` {{ 7*7 }} \U0001f3fa"
    conversation["odd"] = {"big": 10**30, "list": [None, {}, []]}
    del conversation["prePanas"]
    records = load_conversation(conversation)
    again = load(publish(records, "lab/odd", licence="cc-by-4.0"))
    assert json.loads(again[0].to_json()) == conversation
    assert "7*7" not in card_of(writer, "lab/odd").content


def test_the_card_is_what_the_hub_reads(writer: HubServer) -> None:
    demo = load("demo")
    publish(demo, "lab/data", licence="CC BY 4.0")
    card = card_of(writer)
    files = {name: [{"split": "test", "path": f"{name}.parquet"}] for name in (*TABLES, "records")}
    configs = [{"config_name": name, "data_files": where} for name, where in files.items()]
    data: Json = card.data.to_dict()  # type: ignore[no-untyped-call]
    assert data == {
        "license": "cc-by-4.0",
        "pretty_name": "data",
        "size_categories": "n<1K",
        "tags": ["attune-bench", "emotional-intelligence", "evaluation"],
        "configs": [{**configs[0], "default": True}, *configs[1:]],
    }
    assert {f"{name}.parquet" for name in files} == writer.files("lab/data").keys() - {"README.md"}
    assert ("POST", "/api/validate-yaml") in writer.requests
    # 40 conversations of 24 people; what they hold is counted from the records.
    turns = [turn for record in demo for turn in record.turns]
    marked = [(turn.mood_shift_tags, turn.annotations) for turn in turns]
    counts = {
        "mood tags": sum(len(tags) for tags, _ in marked),
        "yes/no judgements": sum(len(noted.binary_judgements) for _, noted in marked),
        "comparisons": sum(len(noted.pairwise_comparisons) for _, noted in marked),
        "PANAS ratings": sum(len(record.pre_panas.responses) + len(record.post_panas.responses) for record in demo),
    }
    told = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    assert f"40 conversations, 24 participants, {len(turns)} turns, {told}." in card.text
    assert "**Synthetic data.** Every record says of itself that it was generated" in card.text
    assert "This is a request, not a condition of the licence" in card.text
    assert "https://creativecommons.org/licenses/by/4.0/" in card.text
    assert re.search(r"GUID [0-9a-f-]{36}\n", card.text)


def test_a_table_without_rows_is_no_config(
    writer: HubServer, conversation: Json, load_conversation: Callable[[Any], Conversations]
) -> None:
    for turn in conversation["turns"]:
        turn["moodShiftTags"], turn["annotations"]["binaryJudgements"] = [], []
    publish(load_conversation(conversation), "lab/data", licence="cc-by-4.0")
    card = card_of(writer)
    data: Json = card.data.to_dict()  # type: ignore[no-untyped-call]
    named = [config["config_name"] for config in data["configs"]]
    assert named == [name for name in (*TABLES, "records") if name not in ("mood_tags", "binary")]
    assert "Without a row, and so no config: `mood_tags.parquet`, `binary.parquet`." in card.text
    assert load("hf://lab/data").found == ()


def test_the_card_says_what_every_column_means(writer: HubServer) -> None:
    publish(load("demo"), "lab/data", licence="cc-by-4.0")
    fields = card_of(writer).text.partition("## Fields")[2]
    columns = {name: list(schema) for name, schema in Tables.schemas().items()} | {"records": ["id", "file", "record"]}
    for name, expected in columns.items():
        section = fields.partition(f"### `{name}`")[2].partition("###")[0]
        rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+) \|$", section, re.MULTILINE)
        assert [column for column, _, _ in rows] == expected, name
        assert all(len(meaning) > 5 and "|" not in meaning for _, _, meaning in rows), name
    assert (
        "| `moment` | `pre` or `post` | When the word was rated: before (`pre`) or after (`post`) the conversation. |"
        in fields
    )


def test_the_card_gives_credit_and_no_text_of_the_data(
    writer: HubServer, conversation: Json, load_conversation: Callable[[Any], Conversations]
) -> None:
    hostile = "x\n---\nlicense: mit\n---\n```\n# Owned <script>alert(1)</script> | {{ 1 }}"
    conversation["metadata"] = dict.fromkeys(("model", "category", "subtopic", "text"), hostile)
    conversation["participant_profile"]["participant_id"] = hostile
    conversation["conversationId"] = hostile
    conversation["canary"] = f"BENCHMARK DATA ```` GUID 26b5\n{hostile}"
    publish(load_conversation(conversation), "lab/data", licence="cc-by-sa-4.0")
    card = card_of(writer)
    assert card.data.get("license") == "cc-by-sa-4.0"
    assert "Synthetic" not in card.text
    assert (
        "Contains data of AttuneBench, published by its authors under [Creative Commons Attribution 4.0]" in card.text
    )
    # All of it is in one line of the canary's block, whose fence is longer than any in it.
    lines = card.text.splitlines()
    place = next(number for number, line in enumerate(lines) if "GUID 26b5" in line)
    assert lines[place].startswith("BENCHMARK DATA ```` GUID 26b5\ufffdx\ufffd---")
    assert (lines[place - 1], lines[place + 1]) == ("`````text", "`````")
    assert [number for number, line in enumerate(lines) if "Owned" in line] == [place]


@pytest.mark.slow
def test_publishing_again_replaces_what_is_ours_only(writer: HubServer) -> None:
    demo = load("demo")
    writer.add("lab/data", {"README.md": b"old", "paper.pdf": b"%PDF", "panas.parquet": b"PAR1"}, private=True)
    publish(demo, "lab/data", licence="cc-by-4.0")
    assert writer.files("lab/data")["paper.pdf"] == b"%PDF"
    publish(demo[:5], "lab/data", licence="cc-by-4.0")
    assert list(load("hf://lab/data")) == list(demo[:5])
    publish(load_runs("demo"), "lab/data", licence="cc-by-4.0")
    files = writer.files("lab/data")
    assert "records.parquet" in files
    assert not files.keys() & {f"{name}.parquet" for name in ("binary", "conversation_wide", "mood_tags")}
    assert files["paper.pdf"] == b"%PDF"
    assert list(load_runs("hf://lab/data")) == list(load_runs("demo"))


@pytest.mark.slow
def test_equal_input_gives_equal_files(writer: HubServer) -> None:
    publish(load("demo"), "lab/one", licence="cc-by-4.0")
    publish(load("demo"), "other/one", licence="cc-by-4.0")
    one, other = writer.files("lab/one"), writer.files("other/one")
    assert {**one, "README.md": b""} == {**other, "README.md": b""}
    assert one["README.md"].replace(b"lab/", b"other/") == other["README.md"]


def test_a_refused_licence_reaches_no_hub(writer: HubServer) -> None:
    record = load("demo")[0].model_copy(update={"license": "CC BY-NC 4.0"})
    with pytest.raises(PublishError, match="does not allow publishing under 'mit'"):
        publish(Conversations([record]), "lab/data", licence="mit")
    with pytest.raises(PublishError, match="unknown licence"):
        publish(load("demo"), "lab/data", licence="gratis")
    with pytest.raises(TypeError, match="licence"):
        publish(load("demo"), "lab/data")  # type: ignore[call-arg]
    assert writer.requests == []


@pytest.mark.slow
def test_nothing_becomes_public_unasked(writer: HubServer) -> None:
    writer.add("lab/open", {"README.md": b""})
    with pytest.raises(PublishError, match="lab/open is public: private=False publishes there"):
        publish(load("demo"), "lab/open", licence="cc-by-4.0")
    assert writer.files("lab/open") == {"README.md": b""}
    publish(load("demo"), "lab/open", licence="cc-by-4.0", private=False)
    assert "turns.parquet" in writer.files("lab/open")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("data", ""),
        ("", ""),
        ("lab/", ""),
        ("hf://lab/data", "; did you mean 'lab/data'?"),
        ("https://huggingface.co/datasets/lab/data", "; did you mean 'lab/data'?"),
        ("lab /data", ""),
        ("lab/data\n", "; did you mean 'lab/data'?"),
    ],
)
def test_what_is_no_name(writer: HubServer, name: str, hint: str) -> None:
    expected = f"{json.dumps(name)} is not the name of a repository, owner/name{hint}"
    with pytest.raises(PublishError, match=f"^{re.escape(expected)}$"):
        publish(load("demo"), name, licence="cc-by-4.0")
    assert writer.requests == []


@pytest.mark.slow
def test_a_name_that_the_hub_does_not_take(writer: HubServer) -> None:
    with pytest.raises(PublishError, match="lab/a--b was not published: Cannot have -- or "):
        publish(load("demo"), "lab/a--b", licence="cc-by-4.0")
    assert writer.requests == []


def test_an_empty_collection_is_not_published(writer: HubServer) -> None:
    with pytest.raises(PublishError, match="nothing to publish as lab/data"):
        publish(Runs(()), "lab/data", licence="cc-by-4.0")
    assert writer.requests == []


def test_without_a_token(hub: HubServer) -> None:
    with pytest.raises(PublishError, match="needs a token of the Hub: hf auth login, or set HF_TOKEN"):
        publish(load("demo"), "lab/data", licence="cc-by-4.0")
    assert hub.requests == []


@pytest.mark.slow
@pytest.mark.usefixtures("hub")
def test_a_wrong_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_wrongtoken")
    with pytest.raises(PublishError, match="the Hub does not accept the token") as raised:
        publish(load("demo"), "lab/data", licence="cc-by-4.0")
    assert "hf_wrong" not in str(raised.value)


STEPS = ("/api/repos/create", "/api/validate-yaml", "/preupload/", "/info/lfs/", "/objects/", "/commit/")
REASONS = {
    403: "the token may not write there; it needs write permission for this owner",
    409: "the name is taken by a repository that the token cannot see, or somebody else writes to it now",
    412: "it was changed while this was published, and is as that change left it; publish again",
    413: "the Hub answered 413 failing as the test wants",
}


@pytest.mark.parametrize(
    ("step", "status"),
    [
        # Each step is refused here once, and each status occurs.
        pytest.param(step, status, marks=() if place % len(REASONS) == number else pytest.mark.slow)
        for place, step in enumerate(STEPS)
        for number, status in enumerate(REASONS)
    ],
)
def test_a_refusal_at_any_step_is_one_error(writer: HubServer, step: str, status: int) -> None:
    def fail(method: str, path: str) -> Failure:
        return status if step in path and method != "GET" else None

    writer.fail = fail
    start = time.monotonic()
    with pytest.raises(PublishError) as raised:
        publish(load("demo")[:2], "lab/data", licence="cc-by-4.0")
    assert str(raised.value) == f"lab/data was not published: {REASONS[status]}"
    assert time.monotonic() - start < 10
    assert TOKEN not in str(raised.value)
    assert "lab/data" not in writer.repositories


@pytest.mark.parametrize("step", slow_after(2, STEPS[1:]))
def test_a_repository_of_before_stays_where_publishing_fails(writer: HubServer, step: str) -> None:
    writer.add("lab/data", {}, private=True)
    writer.fail = lambda method, path: 413 if step in path and method != "GET" else None
    with pytest.raises(PublishError, match=r"^lab/data was not published: the Hub answered 413 failing as the test"):
        publish(load("demo")[:2], "lab/data", licence="cc-by-4.0")
    assert writer.files("lab/data") == {}
    assert "DELETE" not in {method for method, _ in writer.requests}


@pytest.mark.slow
def test_what_is_left_of_a_repository_is_said(writer: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def not_deleted(_method: str, path: str) -> Failure:
        return 403 if "/commit/" in path or "/delete" in path else None

    def lost(handler: Any) -> None:
        writer.repositories["lab/data"].commit({"README.md": b"sent"})
        handler.connection.close()

    writer.fail = not_deleted
    with pytest.raises(
        PublishError, match="write permission for this owner; the empty repository that was created for"
    ):
        publish(load("demo")[:2], "lab/data", licence="cc-by-4.0")
    writer.repositories.clear()
    # The commit comes, its answer does not.
    writer.fail = lambda _method, path: lost if "/commit/" in path else None
    with pytest.raises(
        PublishError, match=r"but the repository has a commit of what was sent, hf://lab/data@"
    ) as raised:
        publish(load("demo")[:2], "lab/data", licence="cc-by-4.0")
    assert str(raised.value).endswith(writer.repositories["lab/data"].refs["main"])
    assert writer.files("lab/data") == {"README.md": b"sent"}
    writer.repositories.clear()
    # A person who stops it gets what they asked for, and no repository either.
    writer.fail = lambda _method, _path: None
    monkeypatch.setattr(
        "huggingface_hub.HfApi.create_commit", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        publish(load("demo")[:2], "lab/data", licence="cc-by-4.0")
    assert not writer.repositories


def test_uploads_go_by_http_where_xet_is_on(writer: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import _commit_api, constants
    from huggingface_hub.utils._runtime import is_xet_available

    def uploaded(*_arguments: object, **_options: object) -> None:
        raise AssertionError("uploaded to Xet")

    monkeypatch.delenv("HF_HUB_DISABLE_XET")
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", False)
    monkeypatch.setattr(_commit_api, "_upload_xet_files", uploaded)
    assert is_xet_available()
    demo = load("demo")[:2]
    assert list(load(publish(demo, "lab/data", licence="cc-by-4.0"))) == list(demo)
    assert not [path for _, path in writer.requests if "xet" in path]
    assert is_xet_available()


@pytest.mark.parametrize(("failure", "why"), slow_after(1, [(CUT, "cannot be reached"), (HANG, "does not answer")]))
def test_a_hub_that_breaks_off(writer: HubServer, monkeypatch: pytest.MonkeyPatch, failure: str, why: str) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_ETAG_TIMEOUT", 1)
    writer.add("lab/data", {}, private=True)
    writer.fail = lambda _method, _path: failure
    with pytest.raises(PublishError, match=f"lab/data was not published: the Hub at {writer.url} {why}"):
        publish(load("demo")[:2], "lab/data", licence="cc-by-4.0")


def test_no_network(writer: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://user:secret@127.0.0.1:9/")
    with pytest.raises(
        PublishError, match=r"^lab/data was not published: the Hub at http://127\.0\.0\.1:9 cannot be reached: "
    ):
        publish(load("demo")[:2], "lab/data", licence="cc-by-4.0")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(PublishError, match="lab/data needs the network, and HF_HUB_OFFLINE is set"):
        publish(load("demo")[:2], "lab/data", licence="cc-by-4.0")
    assert writer.requests == []
