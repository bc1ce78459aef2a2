"""Invented files of EQ-Bench 4 in the form of the site's: the script of the board, role-plays, and their indexes."""

import json
from collections.abc import Sequence
from pathlib import Path

from synthetic.roleplays import entries, slug

from attune_data.eqbench4 import EQBench4Roleplay


def script_of(played: Sequence[EQBench4Roleplay]) -> str:
    """Return the board of role-plays as the site's script."""
    models = [json.loads(one.to_line()) for one in entries(played)]
    board = {"generated_at": "2026-01-01", "ability_modes": {}, "model_summaries": {}, "models": models}
    return f"// Made by a program, a = 1.\nconst EQBENCH4_DATA = {json.dumps(board, indent=2)};\n"


def write_site(folder: Path, played: Sequence[EQBench4Roleplay]) -> None:
    """Write ``eqbench4_data.js`` and ``transcripts`` into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "eqbench4_data.js").write_text(script_of(played), encoding="utf-8")
    indexes: dict[str, list[dict[str, object]]] = {}
    for one in played:
        own = folder / "transcripts" / slug(one.evaluated_model)
        own.mkdir(parents=True, exist_ok=True)
        (own / f"{one.i}.json").write_bytes(one.to_line())
        about: dict[str, object] = {"i": one.i, "scenario_id": one.scenario_id, "task_type": one.task_type}
        about |= {"relationship": one.relationship} | ({"ability_score": 0.5} if one.abilities else {})
        indexes.setdefault(own.name, []).append(about)
    for name, listing in indexes.items():
        index = {"model": name, "dims_mean": {}, "transcripts": listing}
        (folder / "transcripts" / name / "index.json").write_text(json.dumps(index), encoding="utf-8")
