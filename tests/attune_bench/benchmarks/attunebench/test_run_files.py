"""Run files on disk: safe names that stay apart, files that appear whole or not at all."""

from errno import ENOSPC
from pathlib import Path

import pytest

from attune_bench.benchmarks.attunebench.task import run_file_name, write_runs
from attune_data import Run, load_runs


def _named(conversation_id: str, model: str) -> Run:
    return Run(conversation_id=conversation_id, em_model=model, mode="default")


@pytest.mark.parametrize(
    ("conversation_id", "model", "name"),
    [
        ("c1", "vendor/model", "c1_vendor_model_default.json"),
        ("c1", "vendor/family/model:free", "c1_vendor_family-model-free_default.json"),
        ("c1", "model", "c1_model_default.json"),
        ("../../etc", "../x", "--..-etc_.._x_default.json"),
        ("..", "\\x\0\n", "--x--_default.json"),
        ("ä", "v/模型", "ä_v_模型_default.json"),
    ],
)
def test_names_of_run_files_are_safe(conversation_id: str, model: str, name: str) -> None:
    assert run_file_name(_named(conversation_id, model)) == name


def test_long_names_are_cut_and_stay_apart() -> None:
    names = [run_file_name(_named("模" * 90, f"vendor/{letter}")) for letter in "ab"]
    assert len(set(names)) == 2
    assert all(len(name.encode()) <= 200 and name.endswith(".json") for name in names)


def test_repeats_are_in_folders_of_their_own(tmp_path: Path) -> None:
    runs = [_named("c1", "v/m").model_copy(update={"repeat": repeat}) for repeat in (1, 2)]
    named = [path.relative_to(tmp_path).as_posix() for path in write_runs(runs, tmp_path)]
    assert named == ["c1_v_m_default.json", "repeat-2/c1_v_m_default.json"]
    assert sorted(run.repeat for run in load_runs(tmp_path)) == [1, 2]


def test_runs_are_written_whole_and_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "new" / "runs"
    old, new = _named("c1", "v/m"), Run(conversation_id="c1", em_model="v/m", mode="default", api_cost=2)
    assert write_runs([old], folder) == write_runs([new], folder) == [folder / "c1_v_m_default.json"]
    text = (folder / "c1_v_m_default.json").read_text(encoding="utf-8")
    assert text.startswith('{\n  "conversationId": "c1",\n')

    def fail(*_: object) -> None:
        raise OSError(ENOSPC, "no space left")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no space left"):
        write_runs([old], folder)
    assert [path.name for path in folder.iterdir()] == ["c1_v_m_default.json"]
    assert load_runs(folder)[0].api_cost == 2


@pytest.mark.parametrize(("first", "second"), [("v/a:b", "v/a-b"), ("v/a", "V/A"), ("v/a", "v/a")])
def test_colliding_names_are_an_error_that_names_both(first: str, second: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"'c1/{first}/default' and 'c1/{second}/default'"):
        write_runs([_named("c1", first), _named("c1", second)], tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
