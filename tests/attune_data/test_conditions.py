"""An SQL condition computes with columns: it reads no file, ends no process, and a wrong one is one error."""

import random
from pathlib import Path

import polars as pl
import pytest

from attune_bench.cli import main
from attune_data import load
from attune_data.conditions import FUNCTIONS, sql_condition

FRAME = pl.DataFrame(
    {
        "n": [1, 2],
        "x": [0.5, None],
        "s": ["a", "it's"],
        "b": [True, False],
        "l": [["a"], []],
        'od"d': [1, 1],
        "greatest": [0, 0],
    }
)


def answers(condition: str) -> list[bool | None]:
    return FRAME.select(answer=sql_condition(condition, FRAME.columns))["answer"].to_list()


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("n > 1 AND NOT b", [False, True]),
        ("n in (2, 3) or s = 'a'", [True, True]),
        ("s = 'it''s'", [False, True]),
        ('"od""d" = 1 and N is not null'.replace("N", "n"), [True, True]),
        ("x is null", [False, True]),
        ("s like 'it%' or s ilike 'A'", [True, True]),
        ("n between 1 and 1.5", [True, False]),
        ("case when b then n = 1 else false end", [True, False]),
        ("cast(n as varchar) = '1' and try_cast(s as integer) is null", [True, False]),
        ("n % 2 = 1 and n * -2 + 1 <= - 1", [True, False]),
        ("coalesce(x, 9) >= greatest(n, 2)", [False, True]),
        ("array_contains(l, 'a') and length(s) = 1 and starts_with(upper(s), 'A')", [True, False]),
        (r"s || '\' = 'a\'", [True, False]),
    ],
)
def test_a_condition_computes_with_columns(condition: str, expected: list[bool]) -> None:
    assert answers(condition) == expected


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("s in (select s from read_csv('{file}'))", "no other table or file"),
        ("s in (SELECT s FROM '{file}')", "no other table or file"),
        ("exists (select 1 from read_csv('{file}'))", "'exists', which it cannot call"),
        ("s in (from read_csv('{file}'))", "no other table or file"),
        *((f"{name}('{{file}}') = 1", f"calls '{name}', which it cannot call")
          for name in ("read_csv", "read_parquet", "read_json", "read_ipc", "scan_csv", "READ_CSV", "repeat")),
        ("s = 'a' /*' */ in (select s from read_csv(/*'*/ '{file}'))", "'/"),
        ("n = 1 -- '", "-- '"),
        ("E'\\' in (select 1) or s = ''", "no trait 'E'"),
        ("s in $$a$$", "text is in single quotes"),
        ("s = calm", "no trait 'calm'; .*; if calm is a value, write s = 'calm'"),
        ("s = 'a", "text is in single quotes"),
        ("`n` = 1", "text is in single quotes"),
        ("frame.n = 1", "has '.n = 1', which it cannot have"),
        ('s = "a"', "no trait 'a'"),
        ('"*" = 1', r"no trait '\*'"),
        ('"^.*$" = 1', r"no trait '\^"),
        ("n::int = 1", "which it cannot have"),
        ("CAST(n AS DECIMAL(99,99)) = 1", "calls 'DECIMAL', which it cannot call"),
        ("greatest() = 1", r"calls greatest\(\) with nothing"),
        ("least( ) = 1", r"calls least\(\) with nothing"),
        ('"greatest"() = 1', 'calls "greatest"; the name of a function is without quotes'),
        ('"greatest" (n) = 1', 'calls "greatest"'),
        ("sum(n) over (partition by s) = 1", "calls 'sum', which it cannot call"),
        ("n = 1e", "which it cannot have"),
        ("", "not an SQL expression: ''"),
        (f"n = {'9' * 400}", "not an SQL expression"),
    ],
)  # fmt: skip
def test_anything_else_is_refused_before_polars_reads_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], condition: str, message: str
) -> None:
    file = tmp_path / "secret.csv"
    file.write_text("s\na\n")
    with pytest.raises(ValueError, match=message):
        answers(condition.replace("{file}", str(file)))
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("condition", "instead"),
    [("age_range = 18-30", "age_range = '18-30'"), ("n_turns > 1 and gender != 5", "gender != '5'")],
)
def test_text_without_quotes_is_shown_with_quotes(condition: str, instead: str) -> None:
    with pytest.raises(ValueError, match=f"is text, and text is in single quotes; write {instead}"):
        load("demo").filter(condition)


DEEP = 10_000


@pytest.mark.parametrize(
    "condition",
    [
        "(" * DEEP + "b" + ")" * DEEP,
        "not " * DEEP + "b",
        "case when b then " * DEEP + "b" + " end" * DEEP,
        "abs(" * DEEP + "n" + ")" * DEEP + " = 1",
        " or ".join(["b"] * DEEP),
        "+".join(["n"] * DEEP) + " = 1",
        "||".join(["s"] * DEEP) + " = 'a'",
        "b" + " is null" * DEEP,
        "- " * DEEP + "n = 1",
        f"s = '{'a' * 200_000}'",
    ],
    ids=lambda text: text[:10],
)
def test_a_condition_that_is_too_long_or_too_deep_never_reaches_the_parser(condition: str) -> None:
    with pytest.raises(ValueError, match=r"at most|within each other"):
        answers(condition)


def test_long_lists_are_no_operators() -> None:
    assert answers(f"n in ({', '.join(map(str, range(2, 10_000)))})") == [False, True]


def test_a_condition_of_the_command_line_ends_in_one_sentence(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table = tmp_path / "scores.csv"
    table.write_text("model,unit,metric,value,age\na,u,m,1,30\na,v,m,0,70\n")
    for condition in ("greatest() > 1", "CAST(age AS DECIMAL(99,99)) > 1", "age in (select 1)", "(" * DEEP):
        with pytest.raises(SystemExit):
            main(["subset", "--scores", str(table), "--filter", condition])
        error = capfd.readouterr().err
        assert error.startswith("attune-bench: the condition ")
        assert error.count("\n") == 1


def test_a_panic_of_polars_is_the_error_of_the_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    # No condition that is allowed is known to panic, so the parser gets one that is not.
    parse = pl.sql_expr
    monkeypatch.setattr(pl, "sql_expr", lambda _: parse("greatest()"))
    with pytest.raises(ValueError, match="not an SQL expression: 'n_turns > 1'"):
        load("demo").filter("n_turns > 1")


@pytest.mark.slow
def test_no_drawn_condition_panics(scale: int, capfd: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(5)
    literals = ["1", "0", "-1", "2.5", "1e300", "99999999999", "'a'", "''", "'('", "null", "true", "(1, 'a')"]
    names = [*FUNCTIONS, "cast", "try_cast"]
    words = "and or not in between like rlike is null case when then else end as integer text = < >= + - * / % || ,"

    def drawn(depth: int) -> str:
        kind = chance.randrange(4 if depth else 1)
        if kind == 0:
            return chance.choice([*literals, *(f'"{name}"' for name in ("n", "x", "s", "b", "l"))])
        if kind == 1:
            given = [drawn(depth - 1) for _ in range(chance.randrange(1, 5))]
            return f"{chance.choice(names)}({', '.join(given)})"
        if kind == 2:
            return f"{drawn(depth - 1)} {chance.choice(words.split())} {drawn(depth - 1)}"
        return f"({drawn(depth - 1)})"

    valid = 0
    for _ in range(3000 * scale):
        condition = drawn(3)
        try:
            answers(condition)
            valid += 1
        except (ValueError, pl.exceptions.PolarsError):
            continue
    assert valid > 300 * scale
    assert "panicked" not in capfd.readouterr().err
