"""The page of a leaderboard: what `board.json` says, as tables that need no script; the script searches and filters."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import files
from math import isfinite
from typing import Any
from urllib.parse import quote

from attune_bench.report.columns import PERSON, Cell, Column, Table, interval, number, percent, text_column
from attune_bench.report.elements import document, folded, pairs_matrix, table_element
from attune_bench.scores.provenance import setting_text
from attune_data.issues import Html, element
from attune_data.text import listed, plural, pluralize, sanitize
from attune_metrics.metric import Metric

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
    parts += [*(_board(board, place, seen) for place, board in enumerate(boards)), _PANEL]
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


def _controls(boards: Sequence[Content]) -> Html:
    """Return the controls, hidden until the script shows them; a choice with one option is left out."""
    conditions = dict.fromkeys(one["title"] for board in boards for one in board["conditions"] if one["title"])
    strata = dict.fromkeys(
        (row["trait"], row["stratum"]) for board in boards for one in board["conditions"] for row in one["subgroups"]
    )
    of_strata = [(json.dumps(one), f"{one[0].replace('_', ' ')}: {one[1]}") for one in strata]
    choices = [
        ("board", "Board", "All boards", [(str(place), board["title"]) for place, board in enumerate(boards)]),
        ("condition", "Condition", "All conditions", [(title, title) for title in conditions]),
        ("subgroup", "Subgroup", "All units", of_strata),
    ]
    shown = [
        element("label", f"{label} ", element("select", element("option", every, value=""), *_options(values), id=name))
        for name, label, every, values in choices
        if len(values) > 1
    ]
    search = element(
        "label", "Search ", Html('<input type="search" id="search" autocomplete="off" placeholder="part of a name">')
    )
    form = element("form", search, *shown, Html('<output id="found" for="search"></output>'), id="controls")
    return Html(form.replace("<form", "<form hidden", 1))


def _options(values: Iterable[tuple[str, str]]) -> list[Html]:
    return [element("option", text, value=value) for value, text in values]


def _board(board: Content, place: int, seen: set[str]) -> Html:
    metrics = {one["name"]: _metric(one) for one in board["metrics"]}
    parts = [element("h2", board["title"])]
    if board["synthetic"]:
        parts.append(element("p", _SYNTHETIC, class_="notice"))
    if board["provenance"]:
        ranked = metrics[board["ranked_by"]]
        better = "higher" if ranked.higher_is_better else "lower"
        said = f"{board['provenance']}. Ranked by {ranked.label}, {better} is better; {board['intervals']}."
        parts.append(element("p", said, class_="quiet"))
    for number_of, one in enumerate(board["conditions"]):
        parts.append(_condition(board, one, metrics, f"{place}-{number_of}", seen))
    left_out = [f"Not shown: {'; '.join(board['left_out'])}."] if board["left_out"] else []
    notes = [element("li", note) for note in (*left_out, *(said for said in board["notes"] if said != _SYNTHETIC))]
    parts += [element("ul", *notes, class_="quiet")] if notes else []
    if board["signature"]:
        parts.append(element("p", "Signature of the board: ", element("code", board["signature"]), class_="quiet"))
    return element("section", *parts, class_="board", data_board=str(place))


def _metric(described: Content) -> Metric:
    known = {name: described[name] for name in ("name", "label", "higher_is_better", "scale", "digits")}
    return Metric(**known)


def _condition(board: Content, one: Content, metrics: Mapping[str, Metric], place: str, seen: set[str]) -> Html:
    title, metric = one["title"], metrics[board["ranked_by"]]
    called = f"{board['title']}, {title}" if title else board["title"]
    ranked = list(enumerate((row["model"] for row in one["models"]), start=1))
    parts = [
        *([element("h3", title)] if title else []),
        element("div", _ranking(board, one, metrics, called, seen), class_="ranking"),
        *_subgroups(board, one, metric, called),
    ]
    if len(ranked) > 1:
        tests = {"family": one["family"], "exchanges": one["exchanges"]}
        matrix = pairs_matrix(ranked, one["pairs"], metric, f"Pairs: {called}", **tests, numbers=True)
        parts.append(folded("Which models differ significantly", [matrix], "matrix", is_open=True))
    parts.append(folded("Provenance and signatures", [_provenance(one, called)], "about"))
    return element("section", *parts, class_="condition", data_condition=title, id=f"part-{place}")


def _table(
    columns: Sequence[Column],
    rows: Sequence[Content],
    called: str,
    of_row: Callable[[Content], Mapping[str, str]] = lambda _: {},
) -> Html:
    """Return a table of models; a reason stands in its cell."""
    known = [{key: value for key, value in row.items() if key != "reason"} for row in rows]
    models = [row["model"] for row in rows]
    return table_element(Table("", "", columns, known), models, called=called, of_row=of_row)


def _ranking(board: Content, one: Content, metrics: Mapping[str, Metric], called: str, seen: set[str]) -> Html:
    """Return the models in their tiers, each with the values of all metrics."""
    main, ends = board["ranked_by"], _ends(one["models"], board["ranked_by"])
    tiers = [None, *(row["tier"] for row in one["models"])]
    begins = {row["model"] for row, before in zip(one["models"], tiers, strict=False) if row["tier"] != before}

    def of_row(row: Content) -> Mapping[str, str]:
        name = sanitize(row["model"])
        kinds = [*(["first"] if row["model"] in begins else []), *(["even"] if (row["tier"] or 0) % 2 == 0 else [])]
        address = {} if name in seen or any(map(str.isspace, name)) else {"id": f"model={name}"}
        seen.add(name)
        return {"class_": " ".join(kinds), **address}

    columns = [
        Column("rank", lambda row: _number(row, "rank", _span(row))),
        Column("model", _model, is_name=True),
        Column("tier", lambda row: _number(row, "tier", _near(row))),
        *(
            Column(metric.label, partial(_value, metric=metric, ends=ends if name == main else None))
            for name, metric in metrics.items()
        ),
        Column(pluralize(board["unit"]), lambda row: _size(row["metrics"][main], board["cluster"])),
    ]
    return _table(columns, one["models"], f"Ranking: {called}", of_row)


def _number(row: Content, key: str, small: str) -> Cell:
    return Cell("-" if row[key] is None else f"{row[key]:g}", small, row[key])


def _model(row: Content) -> Cell:
    name = sanitize(row["model"])
    mark = [Html(" "), element("small", PERSON)] if row["kind"] == "person" else []
    link = element("a", element("bdi", name), href=f"#model={quote(name, safe='')}")
    return Cell(name, html=Html("".join((link, *mark))))


def _span(row: Content) -> str:
    return "" if row["rank_low"] is None else f"[{row['rank_low']:g}, {row['rank_high']:g}]"


def _near(row: Content) -> str:
    """Name the first and last tier with a model that does not differ significantly from this one."""
    first, last = row["tier_first"], row["tier_last"]
    return "" if first == last else f"no significant difference: {first}\u2013{last}"


def _size(found: Content, cluster: str) -> Cell:
    if found["n"] is None:
        return Cell("-")
    missing = [f"{percent(found['coverage'])} covered"] if (found["coverage"] or 1) < 1 else []
    of = [plural(found["clusters"], cluster)] if found["clusters"] != found["n"] else []
    return Cell(f"{found['n']:,}", ", ".join([*of, *missing]), found["n"])


def _value(row: Content, metric: Metric, ends: tuple[float, float] | None) -> Cell:
    """Return a value with its interval, and where `ends` say of what, as a bar too."""
    found = row["metrics"][metric.name]
    cell = _estimate(found, metric)
    if ends is None or found["value"] is None:
        return cell
    low, high = ends
    known = [found["value"] if found["low"] is None else found[name] for name in ("low", "value", "high")]
    places = [f"{100 * (value - low) / ((high - low) or 1):.1f}%" for value in known]
    style = f"--low: {places[0]}; --at: {places[1]}; --high: {places[2]}"
    bar = element("span", class_="interval", style=style, aria_hidden="true")
    small = [Html(" "), element("small", cell.small)] if cell.small else []
    return replace(cell, html=Html("".join((cell.text, *small, bar))))


def _estimate(found: Content, metric: Metric, size: str = "") -> Cell:
    """Return a value with its interval, or with why it has none."""
    text = number(found["value"], metric)
    within = interval(found["low"], found["high"], metric)
    why = (found["reason"] or "") if found["low"] is None else ""
    return Cell(text, " ".join(filter(None, (within, size, why))), None if found["value"] is None else float(text))


def _ends(rows: Sequence[Content], name: str) -> tuple[float, float] | None:
    """Return between which values the bars are drawn."""
    found = [row["metrics"][name][end] for row in rows for end in ("value", "low", "high")]
    known = [value for value in found if value is not None and isfinite(value)]
    return (min(known), max(known)) if known else None


def _subgroups(board: Content, one: Content, metric: Metric, called: str) -> list[Html]:
    """Return a table for each trait: the models, and a column for each of its values."""
    parts = []
    by_place = {(row["trait"], row["model"], row["stratum"]): row for row in one["subgroups"]}
    for trait in dict.fromkeys(row["trait"] for row in one["subgroups"]):

        def in_stratum(row: Content, trait: str = trait, stratum: str = "") -> Cell:
            if (found := by_place.get((trait, row["model"], stratum))) is None:
                return Cell("-")
            return _estimate(found, metric, "" if found["n"] is None else f"n = {found['n']}")

        strata = dict.fromkeys(row["stratum"] for row in one["subgroups"] if row["trait"] == trait)
        columns = [text_column("model", "model", is_name=True)]
        columns += [Column(stratum, partial(in_stratum, stratum=stratum)) for stratum in strata]
        title = f"{metric.label} by {trait.replace('_', ' ')}"
        units = pluralize(board["unit"])
        note = f"Values with their interval and number of {units}; tiers are of all {units}."
        table = _table(columns, one["models"], f"{title}: {called}")
        inside = folded(title, [table, element("p", note, class_="quiet")])
        best = "descending" if metric.higher_is_better else "ascending"
        parts.append(element("div", inside, class_="subgroups", data_trait=trait, data_best=best))
    return parts


def _provenance(one: Content, called: str) -> Html:
    def settings(row: Content) -> Cell:
        values = row["settings"].items()
        return Cell("; ".join(f"{name} {listed([*map(setting_text, own)])}" for name, own in values) or "-")

    def link(row: Content) -> Cell:
        url = row["link"]
        return Cell("-", html=element("a", url, href=url, rel="nofollow noopener") if url else None)

    texts = {"model": "model", "submitted by": "submitter", "date": "date", "licence": "licence"}
    columns = [
        *(text_column(head, key, is_name=True) for head, key in texts.items()),
        Column("link", link, is_name=True),
        Column("settings", settings, is_name=True),
        Column("signature", lambda row: Cell("", html=element("code", row["signature"])), is_name=True),
    ]
    return _table(columns, one["models"], f"Provenance: {called}")
