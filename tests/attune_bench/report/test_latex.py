"""Tables for LaTeX: rules of booktabs, escaped names, notes below; nothing is compiled."""

import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attune_bench import Scores
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
    # Notes stand below, and the whole signature in a comment.
    assert text.index(r"{\footnotesize") > text.index(r"\end{tabular}")
    assert text.splitlines()[-1] == f"% {scores.sign(resamples=50)}"
