"""The page of a leaderboard: what `board.json` says, as tables that need no script; the script searches and filters."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from math import isfinite
from typing import Any
from urllib.parse import quote

from attune_bench.report.answer import pairs_matrix
from attune_bench.report.columns import PERSON, interval, number, p_value, percent
from attune_bench.report.page import document, folded, scrolled
from attune_bench.scores.settings import setting_text
from attune_data.issues import Html, element
from attune_data.text import listed, plural, printable
from attune_metrics.metric import Metric

__all__ = ["leaderboard_page"]

Content = Mapping[str, Any]
_OTHERS = {"person": "people", "baseline": "baselines"}


def leaderboard_page(content: Content) -> str:
    """Return the page of a leaderboard.

    Parameters
    ----------
    content : mapping
        As from `attune_bench.leaderboard.boards.leaderboard_content`.

    Returns
    -------
    str
        A page of HTML that makes no request, is whole without its script, and links to a model by ``#model=NAME``.
    """
    boards = content["boards"]
    titles = list(dict.fromkeys(board["title"] for board in boards))
    title = f"{titles[0]} leaderboard" if len(titles) == 1 else "Leaderboard"
    parts = [
        element("h1", title),
        element("p", f"{_counted(boards)}, attune-bench {content['library_version']}.", class_="quiet"),
        element("p", content["tiers"]),
        *([element("p", _APART)] if len(boards) > 1 else []),
        _controls(boards),
    ]
    seen: set[str] = set()
    data: list[Any] = []
    parts += [_board(board, place, seen, data) for place, board in enumerate(boards)]
    parts += [_PANEL, _json(data)]
    source = files("attune_bench.leaderboard")
    style, script = (source.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    return document(title, parts, style=style, script=script)


_APART = "Models on different boards may not be compared: what differs is in the titles of the boards."
_SYNTHETIC = "SYNTHETIC demonstration data."
_PANEL = Html(
    '<section id="panel" hidden aria-labelledby="panel-title"><div class="bar"><h2 id="panel-title" tabindex="-1"></h2>'
    '<button type="button" id="close">Close</button></div><div id="panel-body"></div></section>'
)


def _counted(boards: Sequence[Content]) -> str:
    rows = {(row["kind"], row["model"]) for board in boards for one in board["conditions"] for row in one["models"]}
    counts = Counter(kind for kind, _ in rows)
    others = [plural(counts[kind], kind, several) for kind, several in _OTHERS.items() if counts[kind]]
    return f"{listed([plural(counts['model'], 'model'), *others])} on {plural(len(boards), 'board')}"


def _json(data: Sequence[Any]) -> Html:
    """Return data for the script; no text in it can end the element, or begin a comment in it."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(f'<script type="application/json" id="data">{text}</script>')


def _controls(boards: Sequence[Content]) -> Html:
    """Return the controls, which the script shows; a choice that offers one thing is not there."""
    conditions = dict.fromkeys(one["title"] for board in boards for one in board["conditions"] if one["title"])
    strata = dict.fromkeys(
        (row["trait"], row["stratum"]) for board in boards for one in board["conditions"] for row in one["subgroups"]
    )
    choices = [
        ("board", "Board", "All boards", [(str(place), board["title"]) for place, board in enumerate(boards)]),
        ("condition", "Condition", "All conditions", [(title, title) for title in conditions]),
        (
            "subgroup",
            "Subgroup",
            "All units",
            [(json.dumps(one), f"{one[0].replace('_', ' ')}: {one[1]}") for one in strata],
        ),
    ]
    shown = [
        element(
            "label",
            f"{label} ",
            element("select", element("option", every, value=""), *_options(values), id=name),
        )
        for name, label, every, values in choices
        if len(values) > 1
    ]
    search = element(
        "label", "Search ", Html('<input type="search" id="search" autocomplete="off" placeholder="part of a name">')
    )
    return Html(
        str(element("form", search, *shown, Html('<output id="found" for="search"></output>'), id="controls")).replace(
            "<form", "<form hidden", 1
        )
    )


def _options(values: Iterable[tuple[str, str]]) -> list[Html]:
    return [element("option", text, value=value) for value, text in values]


def _board(board: Content, place: int, seen: set[str], data: list[Any]) -> Html:
    metrics = {one["name"]: _metric(one) for one in board["metrics"]}
    parts = [element("h2", board["title"])]
    if board["synthetic"]:
        parts.append(element("p", _SYNTHETIC, class_="notice"))
    if board["provenance"]:
        ranked = metrics[board["ranked_by"]]
        better = "higher" if ranked.higher_is_better else "lower"
        said = f"{board['provenance']}. Ranked by {ranked.label}, {better} is better; {board['intervals']}."
        parts.append(element("p", said, class_="quiet"))
    for one in board["conditions"]:
        parts.append(_condition(board, one, metrics, place, len(data), seen))
        data.append(_pairs_data(one, metrics[board["ranked_by"]]))
    left_out = [f"Not shown: {'; '.join(board['left_out'])}."] if board["left_out"] else []
    notes = [element("li", note) for note in (*left_out, *(said for said in board["notes"] if said != _SYNTHETIC))]
    parts += [element("ul", *notes, class_="quiet")] if notes else []
    if board["signature"]:
        parts.append(element("p", "Signature of the board: ", element("code", board["signature"]), class_="quiet"))
    return element("section", *parts, class_="board", data_board=str(place))


def _metric(described: Content) -> Metric:
    known = {name: described[name] for name in ("name", "label", "higher_is_better", "scale", "digits")}
    return Metric(**known)


def _condition(
    board: Content, one: Content, metrics: Mapping[str, Metric], place: int, number_of: int, seen: set[str]
) -> Html:
    title = one["title"]
    called = f"{board['title']}, {title}" if title else board["title"]
    parts = [
        *([element("h3", title)] if title else []),
        element("div", scrolled(_ranking(board, one, metrics, seen), f"Ranking: {called}"), class_="ranking"),
        *_subgroups(board, one, metrics[board["ranked_by"]], called),
    ]
    if len(one["models"]) > 1:
        parts.append(
            folded(
                "Which models are told apart", _matrix(one, metrics[board["ranked_by"]], called), "matrix", is_open=True
            )
        )
    parts.append(folded("Provenance and signatures", [scrolled(_provenance(one), f"Provenance: {called}")], "about"))
    return element(
        "section", *parts, class_="condition", data_condition=title, data_board=str(place), id=f"part-{number_of}"
    )


def _head(text: str, *, is_text: bool = False, **attributes: str) -> Html:
    return element("th", text, scope="col", class_="text" if is_text else "number", **attributes)


def _sortable(heads: Sequence[Html], rows: Sequence[Html]) -> Html:
    kind = {"class_": "sortable"} if len(rows) > 1 else {}
    return element("table", element("thead", element("tr", *heads)), element("tbody", *rows), **kind)


def _ranking(board: Content, one: Content, metrics: Mapping[str, Metric], seen: set[str]) -> Html:
    """Return the models in their tiers, each with the values of all metrics."""
    main, *others = metrics.values()
    rows, tier = [], None
    ends = _ends(one["models"], main.name)
    for row in one["models"]:
        name = printable(row["model"])
        kinds = [*(["first"] if row["tier"] != tier else []), *(["even"] if (row["tier"] or 0) % 2 == 0 else [])]
        tier = row["tier"]
        linked = {} if name in seen or any(map(str.isspace, name)) else {"id": f"model={name}"}
        seen.add(name)
        mark = [Html(" "), element("small", PERSON)] if row["kind"] == "person" else []
        cells = [
            _cell("-" if row["rank"] is None else f"{row['rank']:g}", _span(row, "rank_low", "rank_high"), row["rank"]),
            element(
                "td", element("a", element("bdi", name), href=f"#model={quote(name, safe='')}"), *mark, class_="text"
            ),
            _cell("-" if tier is None else str(tier), _near(row), tier),
            _value(row["metrics"][main.name], main, ends),
            *(_value(row["metrics"][metric.name], metric) for metric in others),
            _cell(*_size(row["metrics"][main.name], board["cluster"])),
        ]
        made = element("tr", *cells, data_model=name, class_=" ".join(kinds), **linked)
        rows.append(made)
    heads = [
        _head("rank"),
        _head("model", is_text=True),
        _head("tier"),
        *(_head(metric.label) for metric in metrics.values()),
        _head(f"{board['unit']}s"),
    ]
    return _sortable(heads, rows)


def _cell(text: str, small: str, value: float | None) -> Html:
    below = [Html(" "), element("small", small)] if small else []
    return element("td", text, *below, data_value="" if value is None else repr(float(value)))


def _span(row: Content, low: str, high: str) -> str:
    return "" if row[low] is None else f"[{row[low]:g}, {row[high]:g}]"


def _near(row: Content) -> str:
    """Say among which tiers the models are that one is not told apart from."""
    first, last = row["tier_first"], row["tier_last"]
    return "" if first == last else f"not apart: {first}\u2013{last}"


def _size(found: Content, cluster: str) -> tuple[str, str, float | None]:
    if found["n"] is None:
        return "-", "", None
    missing = [f"{percent(found['coverage'])} covered"] if (found["coverage"] or 1) < 1 else []
    of = [plural(found["clusters"], cluster)] if found["clusters"] != found["n"] else []
    return f"{found['n']:,}", ", ".join([*of, *missing]), found["n"]


def _value(found: Content, metric: Metric, ends: tuple[float, float] | None = None) -> Html:
    """Return a value with its interval, and where `ends` say of what, as a bar too."""
    text = number(found["value"], metric)
    inside = [Html(" "), element("small", interval(found["low"], found["high"], metric))]
    if found["low"] is None:
        inside = [Html(" "), element("small", found["reason"])] if found["reason"] else []
    if ends is not None and found["value"] is not None:
        low, high = ends
        width = (high - low) or 1
        known = [found["value"] if found["low"] is None else found[name] for name in ("low", "value", "high")]
        places = [f"{100 * (value - low) / width:.1f}%" for value in known]
        style = f"--low: {places[0]}; --at: {places[1]}; --high: {places[2]}"
        inside.append(element("span", class_="interval", style=style, aria_hidden="true"))
    value = "" if found["value"] is None else repr(float(text))
    return element("td", text, *inside, data_value=value)


def _ends(rows: Sequence[Content], name: str) -> tuple[float, float] | None:
    """Return between which values the bars are drawn."""
    found = [row["metrics"][name][end] for row in rows for end in ("value", "low", "high")]
    known = [value for value in found if value is not None and isfinite(value)]
    return (min(known), max(known)) if known else None


def _subgroups(board: Content, one: Content, metric: Metric, called: str) -> list[Html]:
    """Return a table for each trait: the models, and a column for each of its values."""
    parts = []
    best = "descending" if metric.higher_is_better else "ascending"
    for trait in dict.fromkeys(row["trait"] for row in one["subgroups"]):
        own = [row for row in one["subgroups"] if row["trait"] == trait]
        strata = list(dict.fromkeys(row["stratum"] for row in own))
        by_place = {(row["model"], row["stratum"]): row for row in own}
        rows = [
            element(
                "tr",
                element("td", element("bdi", row["model"]), class_="text"),
                *(_in_stratum(by_place.get((row["model"], stratum)), metric) for stratum in strata),
                data_model=printable(row["model"]),
            )
            for row in one["models"]
        ]
        heads = [
            _head("model", is_text=True),
            *(_head(stratum, data_subgroup=json.dumps([trait, stratum]), data_best=best) for stratum in strata),
        ]
        title = f"{metric.label} by {trait.replace('_', ' ')}"
        table = scrolled(_sortable(heads, rows), f"{title}: {called}")
        note = f"Values with their interval and number of {board['unit']}s; tiers are of all {board['unit']}s."
        parts.append(folded(title, [table, element("p", note, class_="quiet")], "subgroups"))
    return parts


def _in_stratum(row: Content | None, metric: Metric) -> Html:
    if row is None:
        return _cell("-", "", None)
    text = number(row["value"], metric)
    said = [interval(row["low"], row["high"], metric), "" if row["n"] is None else f"n = {row['n']}"]
    reason = row["reason"] or "" if row["low"] is None else ""
    return _cell(text, " ".join(filter(None, (*said, reason))), None if row["value"] is None else float(text))


def _matrix(one: Content, metric: Metric, called: str) -> list[Html]:
    """Return every model against every other: told apart and better, or worse, or not told apart."""
    models = [row["model"] for row in one["models"]]
    signs: dict[tuple[str, str], int | None] = {}
    for pair in one["pairs"]:
        a, b = pair["model_a"], pair["model_b"]
        sign = None if pair["significant"] is None else 0
        if pair["significant"]:
            sign = 1 if (pair["difference"] > 0) == metric.higher_is_better else -1
        signs[a, b] = sign
        signs[b, a] = None if sign is None else -sign
    table = pairs_matrix(list(enumerate(models, start=1)), signs, f"Pairs: {called}")
    said = (
        "A row against a column: + the row is better, \u2212 it is worse, \u00b7 the two are not told apart "
        f"(Holm-corrected p of 0.05 or more, over {plural(one['family'], 'pair')}, with at most {one['exchanges']:,} "
        "random exchanges), ? there is no comparison, or none that may be shown. Columns are numbered as rows are."
    )
    return [element("p", said, class_="quiet"), table]


def _provenance(one: Content) -> Html:
    rows = []
    for row in one["models"]:
        settings = "; ".join(
            f"{name} {listed([setting_text(value) for value in values])}" for name, values in row["settings"].items()
        )
        link = element("a", row["link"], href=row["link"], rel="nofollow noopener") if row["link"] else "-"
        cells = [
            element("td", element("bdi", row["model"]), class_="text"),
            *(element("td", row[name] or "-", class_="text") for name in ("submitter", "date", "licence")),
            element("td", link, class_="text"),
            element("td", settings or "-", class_="text"),
            element("td", element("code", row["signature"]), class_="text"),
        ]
        rows.append(element("tr", *cells, data_model=printable(row["model"])))
    heads = ("model", "submitted by", "date", "licence", "link", "settings", "signature")
    return _sortable([_head(head, is_text=True) for head in heads], rows)


def _pairs_data(one: Content, metric: Metric) -> dict[str, Any]:
    """Return the comparisons as the script shows them, the numbers as texts."""
    place = {row["model"]: position for position, row in enumerate(one["models"])}
    pairs = [
        [
            place[pair["model_a"]],
            place[pair["model_b"]],
            number(pair["difference"], metric, signed=True),
            number(pair["difference"] and -pair["difference"], metric, signed=True),
            interval(pair["low"], pair["high"], metric, signed=True),
            interval(pair["high"] and -pair["high"], pair["low"] and -pair["low"], metric, signed=True),
            p_value(pair["p_holm"]),
            pair["n"],
            pair["significant"],
        ]
        for pair in one["pairs"]
    ]
    return {"models": [printable(row["model"]) for row in one["models"]], "metric": metric.label, "pairs": pairs}
