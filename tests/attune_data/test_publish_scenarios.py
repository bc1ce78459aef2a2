"""Scenarios, episodes and dialogues on a Hub: published, loaded back, described by their card, refused."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hub_server import TOKEN, HubServer
from huggingface_hub import DatasetCard

from attune_data import (
    Collection,
    PublishError,
    Scenarios,
    SourceError,
    load,
    load_episodes,
    load_runs,
    load_sage,
    load_scenarios,
    publish,
)

Json = dict[str, Any]

EPISODE: Json = {
    "model": "vendor/model",
    "profile_id": "demo_charm_01",
    "scene_tag": "charm",
    "ended_by": "max_rounds",
    "final_anger": 20,
    "final_trust": 30,
    "history": [
        {"role": "defender", "content": "Is that moss?"},
        {"role": "aggressor", "content": "Yes.", "meta": {"anger": 20, "trust": 30}},
    ],
}
DIALOGUE: Json = {
    "id": "0b1e",
    "emo_point": 100,
    "emo_state": "Emotion-S",
    "history": [{"role": "user", "content": "Thanks.", "emotion-point": 100}],
}
LOADERS: dict[str, tuple[Callable[[Any], Collection[Any]], str, str]] = {
    "scenarios": (load_scenarios, "demo", "cc-by-4.0"),
    "episodes": (load_episodes, "results.jsonl", "cc-by-nc-4.0"),
    "dialogues": (load_sage, "some-model_result.jsonl", "mit"),
}


@pytest.fixture(params=LOADERS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def loaded(kind: str, tmp_path: Path) -> Collection[Any]:
    (tmp_path / "results.jsonl").write_text(json.dumps(EPISODE))
    (tmp_path / "some-model_result.jsonl").write_text(json.dumps(DIALOGUE))
    loader, name, _ = LOADERS[kind]
    return loader(name if name == "demo" else tmp_path / name)


@pytest.fixture
def writer(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> HubServer:
    """Return the Hub, with the token that may write."""
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    return hub


def test_published_and_loaded_back(kind: str, loaded: Collection[Any], writer: HubServer) -> None:
    loader, _, licence = LOADERS[kind]
    assert loaded.found == ()
    address = publish(loaded, "lab/data", licence=licence)
    again = loader(address)
    assert list(again) == list(loaded)
    assert again.found == ()
    for (name, frame), (_, before) in zip(again.tables._frames(), loaded.tables._frames(), strict=True):
        assert frame.equals(before), name
    card = writer.files("lab/data")["README.md"].decode()
    assert f'{loader.__name__}("hf://lab/data")' in card
    assert "ask everybody not to train" not in card
    fields = card.partition("## Fields")[2]
    for name, frame in loaded.tables._frames():
        section = fields.partition(f"### `{name}`")[2].partition("###")[0]
        rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+) \|$", section, re.MULTILINE)
        assert [column for column, _, _ in rows] == frame.columns, name
        assert all(len(meaning) > 5 for _, _, meaning in rows), name


@pytest.mark.slow
def test_scenarios_for_training_are_not_called_a_test(writer: HubServer) -> None:
    demo = load_scenarios("demo")
    for splits, expected in (
        (("train",), "train"),
        (("test",), "test"),
        (("train", "test"), "test"),
        ((None,), "test"),
    ):
        marked = [one.model_copy(update={"split": splits[place % len(splits)]}) for place, one in enumerate(demo)]
        publish(Scenarios(marked), "lab/data", licence="cc-by-4.0")
        card = DatasetCard(writer.files("lab/data")["README.md"].decode())
        found = [where["split"] for config in card.data.get("configs") for where in config["data_files"]]
        assert found == [expected] * 2
        assert f'load_dataset("lab/data", "scenarios", split="{expected}")' in card.text
        assert [one.split for one in load_scenarios("hf://lab/data")] == [one.split for one in marked]


@pytest.mark.slow
def test_another_kind_takes_the_place_of_what_was_published(writer: HubServer) -> None:
    publish(load("demo"), "lab/data", licence="cc-by-4.0")
    publish(load_scenarios("demo"), "lab/data", licence="cc-by-4.0")
    assert writer.files("lab/data").keys() == {"README.md", "records.parquet", "scenarios.parquet"}
    assert len(load_scenarios("hf://lab/data")) == 16
    with pytest.raises(SourceError, match="hf://lab/data contains 16 scenarios and no run; load_scenarios reads"):
        load_runs("hf://lab/data")


def test_data_of_eibench_are_not_published_freely(tmp_path: Path, writer: HubServer) -> None:
    (tmp_path / "results.jsonl").write_text(json.dumps(EPISODE))
    with pytest.raises(PublishError, match=r"taken to be of EIBench, which is under cc-by-nc-4\.0"):
        publish(load_episodes(tmp_path), "lab/data", licence="cc-by-4.0")
    assert not writer.repositories
