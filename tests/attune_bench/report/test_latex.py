"""Tables for LaTeX: rules of booktabs, escaped names, captions, labels, notes below; nothing is compiled."""

import re
from pathlib import Path

import polars as pl
import pytest
from commands import Call
from hypothesis import given
from hypothesis import strategies as st

from attune_bench import Scores
from attune_bench.report.comparisons import comparison_tables
from attune_bench.report.document import document, render
from attune_data.export import to_latex

# What stands for itself in LaTeX, and what each of the others is written as.
WRITTEN = {
    "&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "\u2212": "$-$", "<": "$<$", ">": "$>$", "|": "$|$",
}  # fmt: skip
NAME = "a&b%c_d#e$f{g}h~i^j\\k<l>m|n"


@pytest.mark.parametrize("character", WRITTEN)
def test_each_character_of_latex_is_escaped_once(character: str) -> None:
    assert to_latex(f"x{character}y{character}") == f"x{WRITTEN[character]}y{WRITTEN[character]}"


@given(st.text(st.sampled_from([*WRITTEN, "a", "1", "-", "[", "*", "\n"]), max_size=12))
def test_no_command_and_no_end_of_a_cell_is_left(text: str) -> None:
    said = to_latex(text)
    assert not said.startswith(("[", "*"))
    said = re.sub("|".join(map(re.escape, WRITTEN.values())), "", said)
    assert not set("&%_#$~^\\\n") & set(said)
    assert said.removeprefix("{}").count("{") == 0


def test_a_minus_is_one_and_a_hyphen_stays() -> None:
    assert to_latex("-0.5 [-1.0, +2.0] gpt-4 a-b -") == "$-$0.5 [$-$1.0, +2.0] gpt-4 a-b -"


def test_a_report_is_tables_with_rules_and_as_many_cells_as_columns() -> None:
    values = {NAME: (1.0, 2.0), "b": (-9.0, -8.0)}
    rows = [(model, f"q{unit}", "hit_rate", one) for model, own in values.items() for unit, one in enumerate(own)]
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
    scores = Scores.from_table(frame)
    text = scores.report(format="latex", resamples=50)
    grid = r"\\begin\{tabular\}\{([lr]+)\}\n\\toprule\n(.*?) \\\\\n\\midrule\n(.*?)\n\\bottomrule\n\\end\{tabular\}"
    bodies = re.findall(grid, text, re.DOTALL)
    assert bodies
    for places, head, body in bodies:
        for line in (head, *body.split("\n")):
            assert len(re.findall(r"(?<!\\)&", line)) == len(places) - 1, line
    assert to_latex(NAME) in text
    assert "& $-$8.500 & 2" in text
    # The whole signature is a comment.
    assert text.splitlines()[-1] == f"% {scores.sign(resamples=50)}"


def test_a_table_has_a_caption_a_label_and_its_notes_and_reading_is_a_comment(call: Call, tmp_path: Path) -> None:
    rows = [f"q{unit};{unit % 7},5;{unit % 5},5" for unit in range(12)]
    table = tmp_path / "wide.csv"
    table.write_text("\n".join(["unit;gpt-4o;qwen-2-72b", *rows]))
    status, text, err = call("compare", table, "--format", "latex", "--resamples", 200)
    assert (status, err) == (0, "")
    before, inside, after = re.split(r"\\(?:begin|end)\{table\}\n", text)
    caption = r"\caption{Differences between models in value, with uncorrected intervals and $p$-values of paired"
    assert f"{caption} permutation tests.}}" in inside
    assert r"A & B & A minus B & Holm $p$ & $n$ \\" in inside
    assert "By the uncorrected interval" not in text
    assert r"\label{tab:comparisons}" in inside
    assert inside.index(r"\end{tabular}") < inside.index(r"\footnotesize Difference: A minus B")
    assert "Difference: A minus B" not in before + after
    lines = text.splitlines()
    for read in ("separated by semicolons; decimal commas", "Columns read as models", "without a description"):
        assert [line[:2] for line in lines if read in line] == ["% "]
    assert re.search(
        r"^% To quote: No significant difference between .* \$p\$ = 0\.\d+ .* \$n\$ = 12 units\.$", after, re.MULTILINE
    )
    assert all(line.startswith("%") for line in (before + after).splitlines() if line)
    whole = call("compare", table, "--format", "latex", "--resamples", 200, "--full")[1]
    assert r"& differ & $p$ & Holm $p$ & $n$ & $p$ min & mde \\" in whole
    assert all("By the uncorrected interval" in one for one in (whole, call("compare", table, "--resamples", 200)[1]))


def test_letters_of_statistics_are_mathematics_and_names_are_not(call: Call, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    rows = [f"{model},q{unit},n/p,{unit % (2 + place)}" for place, model in enumerate("np") for unit in range(8)]
    table.write_text("\n".join(["model,unit,metric,value", *rows]))
    text = call("compare", table, "--format", "latex", "--resamples", 200)[1]
    assert "\nn & p & " in text or "\np & n & " in text
    assert "{Differences between models in n/p, " in text
    assert "$p$: paired permutation test, exchanging the two models" in text


def test_a_table_of_three_models_fits_a_page(call: Call, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    rows = [
        f"{m},q{u},hit,{u % (2 + p) / 10}"
        for p, m in enumerate(("qwen-2-72b", "llama-3-70b", "gpt-4o"))
        for u in range(60)
    ]
    table.write_text("\n".join(["model,unit,metric,value", *rows]))
    text = call("compare", table, "--format", "latex", "--resamples", 200)[1]
    lines = [line.removesuffix(r" \\").split(" & ") for line in text.splitlines() if line.endswith(r"\\")]
    # In points, by an estimate that is no less than Computer Modern needs; 12 points are between two columns.
    wide = {"+": 7.8, "-": 3.4, ".": 2.8, ",": 2.8, "[": 2.8, "]": 2.8, " ": 3.4, "$": 0, "<": 7.8, "m": 8.3}
    widths = [
        max(sum(wide.get(letter, 5.6) for letter in row[place]) for row in lines) for place in range(len(lines[0]))
    ]
    assert sum(widths) + 12 * len(widths) < 345


def test_notes_on_repeats_and_warnings_are_no_comments_and_labels_differ() -> None:
    rows = [(m, f"q{u}", name, r, float(u % 3)) for m in "ab" for u in range(4) for name in ("x", "y") for r in "12"]
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "repeat", "value"], orient="row")
    scores = Scores.from_table(frame)
    tables = comparison_tables(scores, scores.compare_all(metrics=["x", "y"], resamples=50))
    text = render(document(scores, tables, warnings=["Warning: few."]), format="latex")
    assert re.findall(r"\\label\{(.*)\}", text) == ["tab:comparisons", "tab:comparisons-2"]
    *_, last = text.split(r"\begin{table}")
    assert "Values are means over the repeats of each unit" in last
    assert "Warning: few." in last
    # A float that stands alone says where its notes are.
    assert r"\footnotesize Notes: Table~\ref{tab:comparisons-2}.}" in text.partition(r"\end{table}")[0]
    assert r"\ref" not in last


def test_a_hint_for_the_command_line_is_no_note_of_a_paper(call: Call, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    rows = [f"m{model},q{unit},hit,{(unit * model) % 5}" for model in range(6) for unit in range(8)]
    table.write_text("\n".join(["model,unit,metric,value", *rows]))
    for format_, mark in (("table", ""), ("latex", "% ")):
        text = call("compare", table, "--format", format_, "--resamples", 200)[1]
        assert f"\n{mark}--full lists the pairs with their differences and intervals.\n" in text
        assert text.count("--full") == 1
