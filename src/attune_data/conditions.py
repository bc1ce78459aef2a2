"""SQL conditions on the columns of one table, checked before polars reads them.

A condition may use only columns and literals. The parser of polars alone is not safe: it has functions that read files
and calls them while it parses, it ends the process if an expression is too deep, and it panics at some calls. So the
text is cut into tokens here, each token is compared with a list of allowed tokens, and polars gets a text made from
these tokens.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from attune_data.record import panics_as_errors
from attune_data.text import did_you_mean

if TYPE_CHECKING:
    import polars as pl


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
_LONGEST_CONDITION, _MOST_OPERATORS, _DEEPEST = 100_000, 200, 20
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
        nested parentheses. Text is in single quotes, the name of a column may be in double quotes.
    columns : collection of str
        The columns that it may name.
    asked : mapping of str to str, optional
        Traits that only `where` can ask for, each with the column that it is read from, for error messages.

    Raises
    ------
    ValueError
        If the text has anything else, exceeds one of these limits, or is not an SQL expression.

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

    if len(text) > _LONGEST_CONDITION:
        raise ValueError(f"the condition has {len(text):,} characters; expected {_LONGEST_CONDITION:,} at most")
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
    return f"no trait {name!r}; {did_you_mean(name, columns)}"


def _checked(tokens: Sequence[tuple[str, str]], columns: Collection[str], asked: Mapping[str, str]) -> Iterator[str]:
    """Yield the checked tokens; column names get quotes, so that none is read as a word of SQL."""
    before = ""
    for place, (kind, word) in enumerate(tokens):
        after = "".join(following for _, following in tokens[place + 1 : place + 3])
        if kind == "quoted":
            name = word[1:-1].replace('""', '"')
            if name not in columns:
                hint = _quoted_value(tokens, place, columns) or f" ({_QUOTES})"
                raise ValueError(f"{no_column(name, columns, asked)}{hint}")
            if after.startswith("("):
                raise ValueError(f"the condition calls {word}; the name of a function is without quotes")
            yield word
        elif kind != "word" or (before == "as" and word.lower() in _TYPES):
            yield word
        elif after.startswith("("):
            if word.lower() not in FUNCTIONS:
                raise ValueError(f"the condition calls {word!r}, which it cannot call; {did_you_mean(word, FUNCTIONS)}")
            if after == "()":
                raise ValueError(f"the condition calls {word}() with nothing in its parentheses")
            yield word
        elif word in columns:
            yield f'"{word}"'
        elif word.lower() in _OF_QUERIES:
            raise ValueError(
                f"the condition has {word!r}; it reads columns of its own table only, and no other table or file"
            )
        else:
            raise ValueError(f"{no_column(word, columns, asked)}{_quoted_value(tokens, place, columns)}")
        before = word.lower()


def _quoted_value(tokens: Sequence[tuple[str, str]], place: int, columns: Collection[str]) -> str:
    """Return what to write if the name at a place is the value that a column is compared with; otherwise nothing."""
    if place < 2 or tokens[place - 1][1] not in _COMPARISONS or tokens[place - 2][1].strip('"') not in columns:
        return ""
    column, operator, value = (word for _, word in tokens[place - 2 : place + 1])
    bare = value.strip('"')
    return f"; if {bare} is a value, write {column} {operator} '{bare}'"


_COMPARISONS = ("=", "==", "!=", "<>", "<", ">", "<=", ">=")
_BARE_VALUE = re.compile(r"""(\w+)\s*(==?|!=|<>|<=?|>=?)\s*([^\s'"()]+)""")


def unquoted_text(condition: str, frame: "pl.DataFrame") -> str:
    """Return which column of text a condition compares with a value without quotes, and what to write instead."""
    import polars as pl

    for column, operator, value in _BARE_VALUE.findall(condition):
        if isinstance(frame.schema.get(column), pl.String | pl.Enum) and value not in frame.columns:
            return f"{column} is text, and text is in single quotes; write {column} {operator} '{value}'"
    return ""
