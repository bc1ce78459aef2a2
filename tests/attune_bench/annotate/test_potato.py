"""A task for Potato is blind and inert, and what Potato keeps becomes the tables of ratings and comparisons."""

import csv
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attune_bench.annotate.potato import read_answers, write_task
from attune_bench.annotate.rate import RateJob, Scale
from attune_bench.annotate.rated import RatedPair, RatedText
from attune_bench.cli import main
from attune_data.issues import SourceError
from attune_metrics.metric import MetricInputError

WORDS = {"vendor/large": "Yes </script><img src=x onerror=alert(1)>", "vendor/small": "No."}
TEXTS = [
    RatedText(model=model, unit=unit, text=f"{unit} {word}", talk=(("person", "Why? <!-- "), ("model", "So.")))
    for unit in ("q1", "q2", "q3")
    for model, word in WORDS.items()
]
PAIRS = [
    RatedPair(unit=f"q{n}", a="vendor/large", b="vendor/small", text_a="Yes.", text_b="No.", criterion="warmth")
    for n in range(40)
]
JOBS = {"texts": RateJob(TEXTS, scale=Scale(0, 10, 5), dimension="warmth"), "pairs": RateJob(PAIRS)}


def items(folder: Path) -> list[dict[str, Any]]:
    """Return the items that Potato shows."""
    return [json.loads(line) for line in (folder / "potato" / "data" / "items.jsonl").read_text().splitlines()]


def answer(folder: Path, person: str, choose: Callable[[dict[str, Any]], str | None]) -> Path:
    """Write what Potato 2.12.1 kept of a person who answered in a browser: the option's label, twice."""
    chosen = {item["id"]: choose(item) for item in items(folder)}
    state = {
        "user_id": person,
        "instance_id_ordering": [*chosen],
        "instance_id_to_label_to_value": {
            item: [[{"schema": "rating", "name": label}, label]] for item, label in chosen.items() if label
        },
    }
    file = folder / "potato" / "annotation_output" / person / "user_state.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(state))
    (file.parent / "annotation_history.jsonl").write_text("")  # which Potato writes too
    return file


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("kind", JOBS)
def test_what_potato_serves_names_no_model_and_is_never_executed(tmp_path: Path, kind: str) -> None:
    write_task(JOBS[kind], tmp_path / "crowd", people=3)
    served = "".join(path.read_text() for path in (tmp_path / "crowd" / "potato").rglob("*") if path.is_file())
    assert "vendor" not in served
    assert "vendor/large" in (tmp_path / "crowd" / "key.json").read_text()
    # A tag, the end of a script or a comment cannot begin; "<" and its word joiner look like "<".
    assert re.findall("<(?!\u2060)", served) == []
    config = json.loads((tmp_path / "crowd" / "potato" / "config.yaml").read_text())
    shown = {field["key"] for field in config["instance_display"]["fields"]}
    assert shown <= items(tmp_path / "crowd")[0].keys()
    assert config["item_properties"]["text_key"] == "id"
    assert config["max_annotations_per_item"] == 3


def test_ratings_of_a_crowd_become_labels_and_ratings(tmp_path: Path) -> None:
    folder = tmp_path / "crowd"
    write_task(JOBS["texts"], folder, people=2)
    answer(folder, "ann@example.org", lambda item: "5" if "Yes" in item["text"] else "1")
    answer(folder, "bob@example.org", lambda item: "3" if "q1" in item["text"] else None)
    main_of("annotate", "potato-import", folder, "-o", tmp_path / "out")
    labels = {(row["model"], row["unit"]): row["rating"] for row in rows(tmp_path / "out" / "labels.csv")}
    assert labels["vendor/large", "q1"] == "7.5"
    assert labels["vendor/small", "q1"] == "2.5"
    assert labels["vendor/large", "q3"] == "10.0"
    ratings = rows(tmp_path / "out" / "ratings.csv")
    assert len(ratings) == 8
    assert {row["dimension"] for row in ratings} == {"warmth"}
    raters = {row["rater"] for row in ratings}
    assert len(raters) == 2
    assert all(re.fullmatch("rater-[0-9a-f]{8}", rater) for rater in raters)


def test_verdicts_of_a_crowd_are_of_the_models_whatever_side_they_were_on(tmp_path: Path) -> None:
    folder = tmp_path / "crowd"
    write_task(JOBS["pairs"], folder, people=2)
    answer(folder, "ann", lambda item: f"Response {item['texts'].index('Yes.') + 1} is slightly better")
    answer(folder, "bob", lambda _: "Both are equally good, or equally poor")
    main_of("annotate", "potato-import", folder, "-o", tmp_path / "out")
    found = rows(tmp_path / "out" / "comparisons.csv")
    assert len(found) == 80
    assert {(row["winner"], row["margin"], row["criterion"]) for row in found} == {
        ("vendor/large", "1", "warmth"),
        ("tie", "0", "warmth"),
    }
    assert 20 < sum(row["first"] == "vendor/large" for row in found) < 60


def main_of(*arguments: Any) -> None:
    """Run a command that ends well."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert not ended.value.code


def test_the_commands_say_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sheet.csv").write_text("model,unit,text\nlarge,q1,Yes.\nsmall,q1,No.\n", encoding="utf-8")
    main_of("annotate", "potato", "sheet.csv", "--metric", "emotion_f1", "-o", "my crowd")
    said = capfd.readouterr().out.splitlines()
    assert said == [
        "my crowd: 2 texts to rate, each by 3 people",
        "People choose from 7 steps: step 1 is written as rating 0, step 7 as 1.",
        f"next: cd {shlex.quote('my crowd/potato')} && potato start config.yaml -p 8000",
    ]
    answer(Path("my crowd"), "ann", lambda _: "4")
    main_of("annotate", "potato-import", "my crowd", "-o", "out")
    assert capfd.readouterr().out.splitlines() == [
        "2 answers of 1 person: out/labels.csv, out/ratings.csv",
        "next: attune-bench judge correct SCORES --labels out/labels.csv --metric emotion_f1",
    ]


def test_what_does_not_belong_together_is_told(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_task(JOBS["texts"], tmp_path / name, people=1)
    with pytest.raises(FileExistsError):
        write_task(JOBS["texts"], tmp_path / "one", people=1)
    with pytest.raises(SourceError, match=r"annotation_output has no PERSON/user_state\.json"):
        read_answers(tmp_path / "one")
    file = answer(tmp_path / "one", "ann", lambda _: "9")
    with pytest.raises(MetricInputError, match="'9' is no option"):
        read_answers(tmp_path / "one")
    with pytest.raises(MetricInputError, match=r"is not of this study; does .*two/key.json belong"):
        read_answers(tmp_path / "two", tmp_path / "one" / "potato" / "annotation_output")
    state = json.loads(file.read_text())
    [first, *_] = state["instance_id_to_label_to_value"].values()
    first[:] = [[{"schema": "rating", "name": name}, name] for name in "12"]
    file.write_text(json.dumps(state))
    with pytest.raises(MetricInputError, match="2 options are chosen, 1, 2"):
        read_answers(tmp_path / "one")
    file.write_text("{}")
    with pytest.raises(SourceError, match="no state of a person as Potato 2 keeps it"):
        read_answers(tmp_path / "one")
    (tmp_path / "two" / "key.json").write_text('{"items": []}')
    with pytest.raises(SourceError, match="is it the key that annotate potato wrote"):
        read_answers(tmp_path / "two")
