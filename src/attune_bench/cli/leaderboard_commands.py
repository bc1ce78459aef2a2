"""The commands `leaderboard` and `leaderboard check`: a site of many files of scores, and what is wrong with one."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from attune_bench.cli.analysing import sampling_of
from attune_bench.cli.options import NamedPath, sampling_options, verb
from attune_bench.cli.output import UserError, emit, mistakes
from attune_bench.leaderboard.boards import make_boards
from attune_bench.leaderboard.content import leaderboard_content
from attune_bench.leaderboard.entries import Entry, check_entry
from attune_bench.leaderboard.page import leaderboard_page
from attune_bench.progress import progress
from attune_data.io.documents import whole_folder
from attune_data.text import listed, plural

__all__ = ["leaderboard"]


class _WithDefault(click.Group):
    """A group in which what names no command of its own is arguments of `build`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args = ["build", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_WithDefault)
def leaderboard() -> None:
    """Make a leaderboard of files of scores; check what is to be entered.

    leaderboard ENTRY... -o SITE, short for leaderboard build, writes SITE/index.html and SITE/board.json. An ENTRY is a
    file of scores, or a TOML file beside one that says whose it is.
    """


_entries = click.argument("entries", metavar="ENTRY", nargs=-1, required=True, type=NamedPath(path_type=Path))


@verb()
@_entries
@click.option("--output", "-o", type=NamedPath(path_type=Path), required=True, help="A new folder.")
@click.option("--small-cells", is_flag=True, help="Show values of fewer than 5 people, too.")
@sampling_options
def build(entries: tuple[Path, ...], output: Path, small_cells: bool, **given: Any) -> None:
    """Write the site of a leaderboard: a page for any browser, and board.json with every number.

    An ENTRY is a file of scores, or a TOML file beside one that says whose it is. Models are in tiers by the main
    metric. Those that may not be compared are on boards of their own. Values that rest on fewer than 5 people are left
    out.
    """
    try:
        with whole_folder(output) as folder:
            boards = make_boards(_read(entries, small_cells=small_cells), small_cells=small_cells)
            if not any(board.table.groups for board in boards):
                raise UserError(f"no model can be ranked: {listed([why for one in boards for why in one.left_out], 3)}")
            with mistakes():
                content = leaderboard_content(boards, small_cells=small_cells, **sampling_of(given))
            page, numbers = leaderboard_page(content), json.dumps(content, separators=(",", ":"))
            (folder / "index.html").write_text(page, encoding="utf-8")
            (folder / "board.json").write_text(f"{numbers}\n", encoding="utf-8")
    except OSError as error:
        raise UserError(f"{output} cannot be written: {error.strerror or error}") from None
    rows = sum(len(board.table.groups) for board in boards)
    emit(f"{output / 'index.html'}: {plural(rows, 'row')} on {plural(len(boards), 'board')}, opens in any browser")


def _read(paths: Sequence[Path], *, small_cells: bool) -> list[Entry]:
    """Return the entries of files; raise where anything is wrong with one."""
    read: list[Entry] = []
    wrong: list[str] = []
    with progress() as phase:
        step = phase("reading entries", len(paths))
        for place, path in enumerate(paths, start=1):
            # Models of a table that were run on few people are left out; an entry is of one model, and would be empty.
            entry, found = check_entry(path, small_cells=small_cells or path.suffix.lower() != ".toml")
            read += [] if entry is None else [entry]
            wrong += found
            step(place)
    if wrong:
        others = f"; and {plural(len(wrong) - 1, 'other mistake')}: see attune-bench leaderboard check"
        raise UserError(f"{wrong[0]}{others if len(wrong) > 1 else ''}")
    return read


@verb()
@_entries
def check(entries: tuple[Path, ...]) -> int:
    """List all that is wrong with entries of a leaderboard, a line each.

    An ENTRY is a TOML file beside its scores, or a file of scores. Exits with 1 where anything is wrong.
    """
    wrong = 0
    for path in entries:
        entry, found = check_entry(path)
        wrong += len(found)
        for mistake in found:
            emit(mistake)
        if entry is not None and not found:
            held = entry.table.provenance
            size = f"{plural(len(entry.table.models), 'model')}, {plural(entry.table.units.height, held.unit)}"
            emit(f"{path}: nothing wrong; {held.title}, {size}")
    return int(wrong > 0)


leaderboard.add_command(build)
leaderboard.add_command(check)
