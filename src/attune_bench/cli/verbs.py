"""The list of commands, general and of one benchmark, and the exit status of a call."""

import gc
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import NoReturn

import click

from attune_bench._version import __version__
from attune_bench.benchmarks import INSTALLED, all_benchmarks
from attune_bench.cli.help import VerbGroup, shows_all
from attune_bench.cli.stopping import STOPPED, process
from attune_data.references import resolve
from attune_data.text import columns_of_terminal, has_colours, sanitize, toned

_GROUPS = {
    "Look": {
        "demo": ("data", "Score the synthetic data that come with the package."),
        "show": ("data", "Print one record, and what models made of it."),
        "describe": ("data", "Count records by trait, turns, annotations, issues."),
        "validate": ("data", "Check files of any kind and list every issue."),
        "columns": ("column_list", "Say what the columns of tables and files mean."),
    },
    "Ask": {
        "run": ("run", "Ask a model what a benchmark asks."),
        "batch": ("batch", "Write a run's calls for a batch service."),
    },
    "Score and compare": {
        "score": ("score", "Score results against the data they are of."),
        "report": ("scores", "Print a report of scores, or write it as a page."),
        "compare": ("scores", "Compare every two models on their common units."),
        "rank": ("scores", "Rank the models, with an interval of each rank."),
        "figure": ("figures", "Draw scores as one figure: PDF, SVG or PNG."),
        "subset": ("scores", "Score a subgroup, or each value of a trait."),
        "analyze": ("scores", "Do further analyses: distribution, win rates, others."),
        "plan": ("scores", "Say how many participants a comparison needs."),
    },
    "Judges and people": {
        "judge": ("judge", "Compare judges with people; correct them by ratings."),
        "annotate": ("annotate", "Have people annotate in a browser."),
    },
    "Publish": {
        "export": ("export", "Write records or scores for other tools."),
        "leaderboard": ("export", "Make a page that ranks many files of scores."),
        "signature": ("signature", "Print the whole signature behind the hash of an output."),
    },
}
"""The commands that the help lists, in groups; for each its module and what it does."""

_RARE = {"lm-eval-path": ("export", "Print the folder of tasks for lm-evaluation-harness.")}
"""Commands that only `--help-all` lists, as the commands that one benchmark has."""

_EARLIER = {
    "stats": ("scores:stats", "analyze SCORES distribution"),
    "schema": ("column_list:schema", "columns KIND --schema"),
    "judges": ("judge:agree", "judge agree"),
    "labels": ("judge:labels", "judge draw, judge plan"),
    "debias": ("judge:correct", "judge correct"),
}
"""Earlier names of commands: their function, and the name that the help has for them."""

_COMMANDS = {
    name: f"{module}:{name.replace('-', '_')}"
    for group in (*_GROUPS.values(), _RARE)
    for name, (module, _) in group.items()
}


class _Verbs(VerbGroup):
    """The verbs of all benchmarks, then those that one benchmark has alone."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - of the base class
        """Return the names of all commands, without the earlier names."""
        return [*_COMMANDS, *(command.name for benchmark in all_benchmarks() for command in benchmark.commands)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return a command."""
        earlier, _ = _EARLIER.get(cmd_name, (None, None))
        place = earlier or _COMMANDS.get(cmd_name)
        if place is None:  # Only now are the benchmarks of installed packages imported.
            own = {command.name: command.command for benchmark in all_benchmarks() for command in benchmark.commands}
        found: click.Command | None = resolve(f"attune_bench.cli.{place}" if place else own.get(cmd_name))
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is called, under the name that was typed, which may be an earlier name."""
        _, command, rest = super().resolve_command(ctx, args)
        return args[0], command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, which imports no command, and the benchmarks of installed packages."""
        groups = {title: {name: text for name, (_, text) in group.items()} for title, group in _GROUPS.items()}
        if shows_all(ctx):
            groups["Harnesses"] = {name: text for name, (_, text) in _RARE.items()}
            for benchmark in all_benchmarks():
                if benchmark.commands:
                    groups[f"Commands of {benchmark.title}"] = {one.name: one.help for one in benchmark.commands}
            groups["Earlier names"] = {name: f"the same as {now}" for name, (_, now) in _EARLIER.items()}
        width = max(len(name) for group in groups.values() for name in group)
        for title, group in groups.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in group.items()])
        if INSTALLED.loaded:
            with formatter.section("Benchmarks of installed packages"):
                formatter.write_dl([(name, benchmark.title) for name, benchmark in INSTALLED.loaded.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write with what to begin, and where the rest is."""
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text("Begin with: attune-bench demo. What a command takes: attune-bench COMMAND --help.")
        if not shows_all(ctx):
            formatter.write(f"\nmore: {ctx.command_path} --help-all\n")


@click.group(
    name="attune-bench",
    cls=_Verbs,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Score how well language models read people's feelings and preferences, against what the people said.",
)
@click.version_option(__version__, message="%(version)s")
def app() -> None:
    """Run a command."""


def call(arguments: Sequence[str] | None) -> NoReturn:
    """Run a command and exit with its status, see `attune_bench.cli.main`."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal or pipe that cannot show a character gets its escape, not a traceback.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if arguments is None:
        warnings.formatwarning = lambda message, *_, **__: f"attune-bench: {sanitize(str(message))}\n"
    try:
        status = _status(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader, `head` for instance, has seen enough.
        sys.stdout = None  # what the interpreter accepts for a closed stream, and flushes no more
        status = 1
    except OSError as error:
        if error.filename is None:
            sys.stdout = None
        where = "standard output cannot be written" if error.filename is None else error.filename
        status = _fail(f"{where}: {error.strerror or error}")
    if arguments is None:
        gc.freeze()  # The process ends without a last look for garbage among all that it read.
    sys.exit(status)


def _status(arguments: Sequence[str] | None) -> int:
    """Run a command and return its status; say what the user can mend."""
    try:
        # Click subtracts 2 from its own width, which even in a file is the width of the machine.
        columns = columns_of_terminal() - 2
        status = app.main(arguments, prog_name="attune-bench", standalone_mode=False, terminal_width=columns)
    except click.exceptions.NoArgsIsHelpError as error:
        sys.stdout.write(f"{error.format_message()}\n")
        return 0
    except click.ClickException as error:
        called = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "attune-bench"
        text = " ".join(error.format_message().split())
        return _fail(f"{text}{'' if text.endswith(('.', '?', '!')) else '.'} See: {called} --help")
    except click.Abort:
        sys.stderr.write(process.words)
        return STOPPED
    except (ValueError, ImportError) as error:
        if not _is_mistake(error):
            raise
        return _fail(str(error))
    return status if isinstance(status, int) else 0


def _is_mistake(error: Exception) -> bool:
    """Tell whether an error is one that the user can mend: of a source, an option, a missing extra."""
    from attune_bench.cli.output import UserError
    from attune_data.issues import LoadError, PublishError, SourceError
    from attune_metrics.metric import MetricInputError

    if isinstance(error, ImportError):
        return "attune-bench[" in str(error)
    return isinstance(error, (UserError, SourceError, LoadError, PublishError, MetricInputError))


def _fail(message: str) -> int:
    name = toned("attune-bench:", "error" if has_colours(sys.stderr) else "")
    if sys.stdout is not None:
        with suppress(OSError, ValueError):  # It may be closed.
            sys.stdout.flush()  # Both may go to one file.
    with suppress(OSError):  # Where this cannot be said, the status tells.
        sys.stderr.write(f"{name} {sanitize(message)}\n")
    return 2
