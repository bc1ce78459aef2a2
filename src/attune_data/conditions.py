"""SQL conditions on traits: the part of SQL that one may use, checked before polars reads the text.

A condition computes with columns and literals. polars' own parser knows functions that read files, calls them while it
parses, ends the process where an expression is too deep, and panics at some calls; so a text is cut into tokens here,
each is compared with what is allowed, and polars gets the text that is put together again from these tokens.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from attune_data.panics import panics_as_errors
from attune_data.text import meant

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FUNCTIONS", "no_column", "sql_condition"]

FUNCTIONS = tuple(
    """
    abs ceil floor round sign sqrt exp ln log10 pow mod greatest least coalesce ifnull nullif if cast try_cast
    lower upper length trim ltrim rtrim left right substr strpos replace concat starts_with ends_with regexp_like
    array_contains array_length
    """.split()
)
"""The functions that a condition may call."""

_KEYWORDS = frozenset("and or not in between like ilike rlike is null true false case when then else end as".split())
_OF_QUERIES = frozenset("select from with values table exists".split())
_TYPES = frozenset("int integer bigint float double varchar text boolean".split())
_LONGEST, _MOST_OPERATORS, _DEEPEST = 100_000, 200, 20
_TOKEN = re.compile(
    r"""
      (?P<text>'(?:[^']|'')*+')
    | (?P<quoted>"(?:[^"]|"")++")
    | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?!\w))
    | (?P<word>[^\W\d]\w*)
    | (?P<mark>[(),])
    | (?P<operator><=|>=|<>|!=|==|\|\||!?~|[=<>*/%+]|-(?!-))
    | (?P<blank>\s+)
    """,
    re.VERBOSE,
)
_QUOTES = "text is in single quotes, the name of a column in double quotes"


def sql_condition(text: str, columns: Collection[str], asked: Mapping[str, str] | None = None) -> "pl.Expr":
    """Return the polars expression of an SQL condition that reads columns and nothing else.

    Parameters
    ----------
    text : str
        Comparisons, ``AND``, ``OR``, ``NOT``, ``IN``, ``BETWEEN``, ``LIKE``, ``ILIKE``, ``RLIKE`` (``~``), ``IS NULL``,
        ``CASE``, arithmetic and `FUNCTIONS`: at most 100,000 characters, 200 operators and keywords, and 20
        parentheses within each other. Text is in single quotes, the name of a column may be in double quotes.
    columns : collection of str
        The columns that it may name.
    asked : mapping of str to str, optional
        Names that are no columns but asked for otherwise, with the column that they are read from, for errors.

    Raises
    ------
    ValueError
        Where the text has anything else, is longer or deeper, or is not an SQL expression.

    Examples
    --------
    >>> import polars as pl
    >>> pl.DataFrame({"age": [30, 70]}).select(sql_condition("age > 60", ["age"]))["age"].to_list()
    [False, True]
    >>> sql_condition("age in (select age from read_csv('people.csv'))", ["age"])
    Traceback (most recent call last):
    ValueError: the condition has 'select'; it reads columns of its own table only, and no other table or file
    """
    import polars as pl

    if len(text) > _LONGEST:
        raise ValueError(f"the condition has {len(text):,} characters; expected {_LONGEST:,} at most")
    checked = " ".join(_checked(_tokens(text), columns, asked or {}))
    try:
        with panics_as_errors():
            return pl.sql_expr(checked)
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"not an SQL expression: {text!r:.200} ({error!s:.200})") from None


def _tokens(text: str) -> list[tuple[str, str]]:
    """Return the kind and the text of every token."""
    tokens: list[tuple[str, str]] = []
    place = depth = 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise ValueError(f"the condition has {text[place:]!r:.40}, which it cannot have; {_QUOTES}")
        place = found.end()
        kind, word = found.lastgroup or "", found[0]
        if kind == "word" and word.lower() in _KEYWORDS:
            kind = "operator"
        if kind != "blank":
            tokens.append((kind, word))
        depth += (word == "(") - (word == ")")
        if depth > _DEEPEST:
            raise ValueError(f"the condition has more than {_DEEPEST} parentheses within each other; write it flatter")
    if (operators := sum(kind == "operator" for kind, _ in tokens)) > _MOST_OPERATORS:
        raise ValueError(
            f"the condition has {operators:,} operators and keywords; expected {_MOST_OPERATORS} at most. Instead of "
            "x = 1 or x = 2 write x in (1, 2)"
        )
    return tokens


def no_column(name: str, columns: Collection[str], asked: Mapping[str, str]) -> str:
    """Return the message about a name that is no column."""
    if name in asked:
        return f"{name!r} is asked for with where({name}=...); a condition reads columns: this one's is {asked[name]!r}"
    return f"no trait {name!r}; {meant(name, columns)}"


def _checked(tokens: Sequence[tuple[str, str]], columns: Collection[str], asked: Mapping[str, str]) -> Iterator[str]:
    """Yield the tokens; a column is in quotes, so that none is taken for a word of SQL."""
    before = ""
    for place, (kind, word) in enumerate(tokens):
        after = "".join(following for _, following in tokens[place + 1 : place + 3])
        if kind == "quoted":
            name = word[1:-1].replace('""', '"')
            if name not in columns:
                raise ValueError(f"{no_column(name, columns, asked)} ({_QUOTES})")
            if after.startswith("("):
                raise ValueError(f"the condition calls {word}; the name of a function is without quotes")
            yield word
        elif kind != "word" or (before == "as" and word.lower() in _TYPES):
            yield word
        elif after.startswith("("):
            if word.lower() not in FUNCTIONS:
                raise ValueError(f"the condition calls {word!r}, which it cannot call; {meant(word, FUNCTIONS)}")
            if after == "()":
                raise ValueError(f"the condition calls {word}() with nothing in its parentheses")
            yield word
        else:
            _check_column(word, columns, asked)
            yield f'"{word}"'
        before = word.lower()


def _check_column(name: str, columns: Collection[str], asked: Mapping[str, str]) -> None:
    if name in columns:
        return
    if name.lower() in _OF_QUERIES:
        raise ValueError(
            f"the condition has {name!r}; it reads columns of its own table only, and no other table or file"
        )
    raise ValueError(no_column(name, columns, asked))
