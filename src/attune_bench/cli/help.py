"""The help of commands: an example and the common options; `--help-all` adds the others."""

from collections.abc import Iterable, Sequence
from inspect import cleandoc
from typing import Any

import click

from attune_data.text import did_you_mean

_ALL = "attune_bench.help_all"
_DETAILS = ("JSON:", "CSV:", "CSV and JSON:")


class FoldedOption(click.Option):
    """An option that `--help-all` lists, and `--help` does not."""


def show_all(ctx: click.Context) -> None:
    """Let the help of a context, and of those below it, show everything."""
    ctx.meta[_ALL] = True


def shows_all(ctx: click.Context) -> bool:
    """Tell whether the help of a context shows everything."""
    return bool(ctx.meta.get(_ALL))


def _print_all(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        show_all(ctx)
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def help_all_option() -> click.Option:
    """Return the option `--help-all`, which the last line of the help names."""
    return click.Option(
        ["--help-all"], is_flag=True, is_eager=True, expose_value=False, hidden=True, callback=_print_all,
        help="Show every option and exit.",
    )  # fmt: skip


def shown_text(ctx: click.Context, text: str) -> str:
    """Return the text of a help; what JSON and CSV contain is a detail that `--help-all` adds."""
    paragraphs = cleandoc(text).split("\n\n")
    return "\n\n".join(one for one in paragraphs if shows_all(ctx) or not one.startswith(_DETAILS))


def shown_options(ctx: click.Context, options: Iterable[click.Option]) -> list[tuple[str, str]]:
    """Return names and texts of the options that the help of a context lists."""
    chosen = [one for one in options if shows_all(ctx) or not isinstance(one, FoldedOption)]
    return [record for one in chosen if (record := one.get_help_record(ctx))]


def write_end(ctx: click.Context, formatter: click.HelpFormatter, examples: Sequence[str], *, folds: bool) -> None:
    """Write the examples of a command, and how to see the options that are left out, if any are."""
    if examples:
        with formatter.section("Example" if len(examples) == 1 else "Examples"):
            for example in examples:
                formatter.write(f"{'':{formatter.current_indent}}attune-bench {example}\n")
    if folds and not shows_all(ctx):
        formatter.write_paragraph()
        formatter.write(f"more: {ctx.command_path} --help-all\n")


class VerbGroup(click.Group):
    """A group of commands whose help has examples."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.examples = examples
        self.params.append(help_all_option())

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is called; for an unknown one the error names the nearest."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(f"no command {args[0]!r}; {did_you_mean(args[0], self.list_commands(ctx))}", ctx)
        return super().resolve_command(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        write_end(ctx, formatter, self.examples, folds=False)
