"""Tables in terminals of any width: nothing is wider, no number is lost, names stay whole."""

import re
import sys
from collections import Counter

import polars as pl
import pytest
from commands import Call
from slow_cases import slow_after
from terminals import show_on_terminal

from attune_bench import Scores
from attune_bench.report.comparisons import comparison_tables
from attune_bench.report.document import Document, TextTable, document, laid_out, render
from attune_bench.report.tables import rank_tables
from attune_bench.report.text import report_document
from attune_data.text import width

NAMES = [
    "anthropic/claude-opus-4-5-20251101-thinking-high",
    "anthropic/claude-opus-4-5-20251101-thinking-low",
    "openai/gpt-5.2-2025-12-11-reasoning-effort-high",
    "openai/gpt-5.2-2025-12-11-reasoning-effort-low",
    "google/gemini-3-pro-preview-11-2025-thinking-dynamic",
    "meta-llama/llama-4-maverick-17b-128e-instruct-fp8",
    "qwen/qwen3-next-80b-a3b-instruct-2507-awq",
    "deepseek/deepseek-v3.2-exp-thinking-20250929",
    "mistralai/mistral-large-3-675b-instruct-2512",
]
# Neither the alphabet nor the order of the rows is that of the scores.
BEST_FIRST = [NAMES[place] for place in (4, 7, 0, 8, 2, 6, 1, 5, 3)]
WIDTHS = (40, 60, 80, 100, 120, 160)


@pytest.fixture(scope="module")
def scores() -> Scores:
    """Return scores of nine models on 24 questions in three metrics; the last has no value of one of them."""
    rows = [
        (name, f"q{unit}", metric, 0.9 - 0.04 * BEST_FIRST.index(name) + 0.01 * ((unit + place) % 7))
        for name in NAMES
        for unit in range(24)
        for place, metric in enumerate(("accuracy of the first guess", "calibration", "hits"))
        if (name, metric) != (BEST_FIRST[-1], "hits")
    ]
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
    return Scores.from_table(frame)


@pytest.fixture(scope="module")
def documents(scores: Scores) -> dict[str, Document]:
    """Return the report, the comparisons and the ranks."""
    compared, ranks = scores.compare_all(resamples=2_000), scores.rank(resamples=50)
    return {
        "report": report_document(scores, resamples=50),
        "compare": document(scores, comparison_tables(scores, compared)),
        "rank": document(scores, rank_tables(scores, ranks)),
    }


@pytest.mark.parametrize("kind", ["report", "compare", "rank"])
@pytest.mark.parametrize("columns", slow_after(2, WIDTHS))
def test_tables_fit_and_no_number_is_lost(documents: dict[str, Document], kind: str, columns: int) -> None:
    text, whole = (render(documents[kind], columns=limit) for limit in (columns, 1_000))
    # A signature is one word.
    lines = [line for line in text.splitlines() if not line.startswith("attune:")]
    assert max(map(width, lines)) <= columns
    values = Counter(re.findall(r"(?<![\w.-])[-+<]?\d+\.\d{2,}(?!\.?\w)", whole))
    assert sum(values.values()) >= len(NAMES)
    found = Counter(re.findall(r"(?<![\w.-])[-+<]?\d+\.\d{2,}(?!\.?\w)", text))
    assert values - found == Counter()


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_name_is_whole_whatever_the_width(documents: dict[str, Document], columns: int) -> None:
    found: list[str] = []
    for line in render(documents["rank"], columns=columns).splitlines():
        # A row begins with its rank; below it are the rest of its name.
        if row := re.match(r"\d \[\d, \d\] +(\S+)  ", line):
            found.append(row[1])
        elif found and (rest := re.match(r" +(\S+)$", line)):
            found[-1] += rest[1]
    assert found[: len(NAMES)] == BEST_FIRST


def test_names_that_are_heads_are_whole() -> None:
    rows = [["hits", "0.91 (80%)", "0.88 (80%)"]]
    table = TextTable("", ["metric", *NAMES[:2]], rows, [[""] * 3], [], [], heads_are_names=True, notes=[])
    [text] = laid_out(table, 60)
    head, _ = text.split("\n---")
    cells = [re.split(" {2,}", line.removeprefix("metric").strip()) for line in head.split("\n")]
    assert ["".join(column) for column in zip(*cells, strict=True)] == NAMES[:2]


def test_wide_characters_count_twice_in_a_title() -> None:
    table = TextTable("accuracy, " + "模型" * 40, ["a", "b"], [["c", "d"]], [["", ""]], [], [], False, ["说明" * 40])
    blocks = laid_out(table, 60)
    assert all(width(line) <= 60 for block in blocks for line in block.splitlines())
    assert "".join(blocks).replace("\n", "").count("模型") == 40


def test_names_are_whole_where_they_fit(documents: dict[str, Document]) -> None:
    for made in documents.values():
        text = render(made, columns=300)
        assert all(name in text for name in NAMES)


def test_the_better_model_is_a(scores: Scores) -> None:
    found = scores.compare_all(metrics=["hits"], resamples=50).select("model_a", "model_b").rows()
    assert found == [(one, other) for place, one in enumerate(BEST_FIRST) for other in BEST_FIRST[place + 1 :]]


def test_a_continued_table_repeats_what_its_rows_are_of(documents: dict[str, Document]) -> None:
    text = render(documents["compare"], columns=60)
    heads = re.findall(r"^A .*$", text, re.MULTILINE)
    assert len(heads) > 2
    assert all(re.match(r"A +B ", head) for head in heads)


def test_a_label_that_leaves_no_room_is_wrapped() -> None:
    rows = [["a label of quite some length", "0.123 [0.111, 0.135]"], ["b", "-"]]
    table = TextTable("", ["metric", "value"], rows, [["", ""]] * 2, [], [], heads_are_names=False, notes=[])
    [text] = laid_out(table, 40)
    assert text.splitlines() == [
        "metric                           value",
        "--------------------------------------",
        "a label of quite  0.123 [0.111, 0.135]",
        "some length",
        "b                                    -",
    ]


def test_what_is_undefined_is_a_dash_that_is_explained(documents: dict[str, Document]) -> None:
    text = render(documents["report"])
    assert re.search(rf"^{BEST_FIRST[-1][:10]}.* -( |$)", text, re.MULTILINE)
    assert "\n-: undefined, or not known.\n" in text
    assert "-: undefined" not in render(documents["rank"])


def test_colours_change_no_text(documents: dict[str, Document]) -> None:
    for kind, made in documents.items():
        plain, coloured = (render(made, columns=80, colours=colours) for colours in (False, True))
        assert "\x1b" not in plain
        assert re.sub(r"\x1b\[\d*m", "", coloured) == plain
        bold = {text[:9] for text in re.findall(r"\x1b\[1m(.*?)\x1b\[0m", coloured) if "/" in text}
        # The leader is: in comparisons there is none.
        assert bold == ({BEST_FIRST[0][:9]} if kind != "compare" else set())
    assert "\x1b[32myes\x1b[0m" in render(documents["compare"], columns=80, colours=True)


def test_a_command_takes_the_width_of_the_terminal(
    call: Call, scores: Scores, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{tmp_path}/scores.parquet"
    scores.write(path)
    command = ("rank", "--scores", path, "--resamples", "50")
    monkeypatch.setenv("COLUMNS", "60")
    _, file, _ = call(*command)
    assert file == call(*command, "--format", "table")[1]
    assert NAMES[0] in file.split("---\n")[1]  # in 100 columns names are whole
    show_on_terminal(monkeypatch, 60, colours=True)
    assert sys.stdout.isatty()
    _, shown, _ = call(*command)
    assert "\x1b[1m" in shown
    assert NAMES[0] not in shown.split("---\n")[1]
