"""Names with blanks and umlauts are names like any other, and nothing that exists is overwritten by a folder."""

from pathlib import Path

import pytest
from commands import QUICK, Call

pytestmark = pytest.mark.usefixtures("elsewhere")

FOLDER = "Müllers Läufe 2026"
EXISTS = "exists and is not an empty folder; remove it, or give another name"
ROWS = [(model, unit, (unit * step) % 5 / 4) for model, step in (("Größe 7B", 3), ("göt mini", 2)) for unit in range(8)]


def table() -> Path:
    folder = Path(FOLDER)
    folder.mkdir()
    lines = ["model,unit,metric,value", *(f"{model},Frage {unit},Güte,{value}" for model, unit, value in ROWS)]
    (folder / "meine Tabelle.csv").write_text("\n".join(lines), encoding="utf-8")
    return folder / "meine Tabelle.csv"


def test_blanks_and_umlauts_in_files_models_and_metrics(call: Call) -> None:
    results = table()
    status, out, err = call("compare", results, "--model", "Größe 7B", "göt mini", "--metric", "Güte", *QUICK)
    assert (status, err) == (0, "")
    assert out.startswith("Güte: ")
    assert "Größe 7B  göt mini" in out
    folder = Path(FOLDER, "alle Zahlen")
    assert call("export", results, "--format", "csv", "-o", folder, *QUICK)[0] == 0
    assert "Größe 7B,,Frage 0,,Güte,0.0" in (folder / "scores.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "words",
    [
        ("export", "--format", "csv"),
        ("export", "--format", "parquet"),
        ("export", "--format", "eee", "--organization", "Lab"),
        ("leaderboard", "build"),
    ],
    ids=lambda words: " ".join(words[:3]),
)
def test_a_folder_that_exists_stays_as_it_is(words: tuple[str, ...], call: Call) -> None:
    results = table()
    status, out, err = call(*words, results, "-o", FOLDER, *QUICK)
    assert (status, out) == (2, "")
    assert err == f"attune-bench: {Path(FOLDER).absolute()} {EXISTS}\n"
    assert [path.name for path in Path(FOLDER).iterdir()] == [results.name]
