"""Settings of a benchmark that asks one model: its wording, bundled or of one's own, and what is recorded of it."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from attune_bench.runner import ModelSettings
from attune_bench.runner.prompts import PromptError, Prompts, load_prompts

BUNDLED = ("attune_bench.benchmarks.attunebench", "profile-v1")


@dataclass(frozen=True, slots=True)
class Worded(ModelSettings):
    """Settings with templates."""

    rounds: int = 1

    bundled = BUNDLED


def test_the_bundled_wording_is_used_and_recorded() -> None:
    settings, bundled = Worded("m", rounds=2), load_prompts(*BUNDLED)
    assert settings.prompts == bundled
    assert settings.render("retry") == bundled.render("retry")
    assert settings.provenance() == {
        "model": "m",
        "seed": None,
        "temperature": 0.0,
        "max_tokens": 4096,
        "answer_format": "schema",
        "rounds": 2,
        "prompt_version": "profile-v1",
        "prompt_hash": bundled.hash,
    }


def test_a_wording_of_ones_own(tmp_path: Path) -> None:
    load_prompts(*BUNDLED).write(tmp_path / "mine")
    (tmp_path / "mine" / "retry.md").write_text("Once more, please.")
    settings = Worded("m", prompts=tmp_path / "mine")
    assert isinstance(settings.prompts, Prompts)
    assert (settings.render("retry"), settings.provenance()["prompt_version"]) == ("Once more, please.", "custom")
    with pytest.raises(PromptError, match="nowhere is no folder"):
        Worded("m", prompts=tmp_path / "nowhere")


def test_settings_without_templates_take_none(tmp_path: Path) -> None:
    assert "prompt_hash" not in ModelSettings("m").provenance()
    with pytest.raises(ValueError, match="prompts are given, and nothing is asked with templates"):
        ModelSettings("m", prompts=tmp_path)
