"""Options of commands, declared once or by benchmarks."""

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from inspect import cleandoc
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from attune_bench.benchmarks import BENCHMARKS, benchmark_named
from attune_bench.cli.help import FoldedOption, help_all_option, shown_options, shown_text, write_end
from attune_bench.cli.output import WORDS, UserError, mistakes
from attune_bench.scores.benchmark import Benchmark, Choice, Option
from attune_bench.scores.file_types import TABLES_ALONE, is_score_file
from attune_data.query import CliValue
from attune_data.text import joined, listed

F = TypeVar("F", bound=Callable[..., Any])
_SOURCE = "a folder, a file, an archive, hf://owner/name, or demo"


def verb(*examples: str, own: str = "", variants: bool = False) -> Callable[[F], click.Command]:
    """Return the decorator of a command.

    Parameters
    ----------
    *examples : str
        Command lines without ``attune-bench`` that the help of the command shows.
    own : str
        The verb under which benchmarks declare options for the command.
    variants : bool
        Whether the command takes the choices that scores of any benchmark can depend on.
    """

    def decorate(function: F) -> click.Command:
        name, text = function.__name__.strip("_").replace("_", "-"), (function.__doc__ or "").strip()
        command = click.command(name=name, cls=VerbCommand, help=text)(function)
        command.examples, command.own, command.variants = examples, own, variants
        return command

    return decorate


def option(names: str, help: str, kind: Any = None, **attributes: Any) -> Callable[[F], F]:  # noqa: A002
    """Return the decorator of an option.

    Parameters
    ----------
    names : str
        Its names with blanks between them, such as ``--output -o``.
    help : str
        What it does, in a sentence.
    kind : type, tuple of str, callable or click.ParamType, optional
        bool for a flag, `pathlib.Path` for a path, the values to choose from, or a function that makes the value of a
        text; by default a text.
    **attributes
        ``folded=True`` if only ``--help-all`` lists the option; others as for `click.option`.
    """
    return click.option(*names.split(), **_attributes(help, kind, **attributes))


def many(names: str, help: str, kind: Any = None, **attributes: Any) -> Callable[[F], F]:  # noqa: A002
    """Return the decorator of an option that takes several values, after one name or each after its own."""
    return option(names, f"{help} Repeatable.", kind, multiple=True, **attributes)


def _attributes(help: str, kind: Any, *, folded: bool = False, **others: Any) -> dict[str, Any]:  # noqa: A002
    """Return an option of `option` as `click.option` takes it."""
    found: dict[str, Any] = {"cls": FoldedOption if folded else click.Option, "help": help, **others}
    if kind is bool:
        found["is_flag"] = True
    elif isinstance(kind, FunctionType):
        found["callback"] = partial(_parsed, kind)
    else:
        found["type"] = FILE if kind is Path else click.Choice(kind) if isinstance(kind, tuple) else kind
    return found | {"show_default": others.get("default") is not None}


def _parsed(function: Callable[[str], Any], _: click.Context, __: click.Parameter, text: str | None) -> Any:
    """Return what a function makes of a text; click alone would not show what the function's ValueError says."""
    try:
        return None if text is None else function(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def all_of(*decorators: Callable[[Any], Any]) -> Callable[[F], F]:
    """Return the decorator that adds several arguments and options, which help lists in this order."""
    return partial(_decorated, decorators)


def _decorated(decorators: Sequence[Callable[[Any], Any]], function: F) -> F:
    for decorator in reversed(decorators):
        function = decorator(function)
    return function


class NamedPath(click.Path):
    """A path with a name; the empty name of an unset variable would mean the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        if value == "":
            self.fail("the name is empty", param, ctx)
        return super().convert(value, param, ctx)


FILE = NamedPath(path_type=Path)


class VerbCommand(click.Command):
    """A command that takes the options which benchmarks declare for it, and lists of values after one name."""

    examples: Sequence[str] = ()
    own = ""
    variants = False

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own parameters, then the parameters of benchmarks."""
        own = [_click_option(option) for option, _ in self._declared(ctx).values()]
        *general, helping = super().get_params(ctx)
        return [*general, *own, helping, help_all_option()]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; values that follow a list's name are its values."""
        ctx.meta[WORDS] = [*args]
        for place, word in enumerate(args):
            if word == "--benchmark" and place + 1 < len(args):
                ctx.meta["benchmark"] = args[place + 1]
            elif word.startswith("--benchmark="):
                ctx.meta["benchmark"] = word.partition("=")[2]
        words = _expanded(args, self.get_params(ctx))
        try:
            rest = super().parse_args(ctx, [*words])
        except click.NoSuchOption as error:
            raise click.UsageError(_no_option(ctx, error, words), ctx) from None
        except click.MissingParameter as error:
            example = f"for instance: attune-bench {self.examples[0]}"
            raise click.UsageError(f"{error.format_message().rstrip('.')}; {example}", ctx) from None
        except click.UsageError as error:
            if scores_argument_of(self) is None or "unexpected extra argument" not in error.message:
                raise
            mend = "join several tables into one, and put a text with blanks in quotes"
            raise click.UsageError(f"{error.message}; {mend}", ctx) from None
        if (scores := scores_argument_of(self)) is not None:
            scores.join(ctx)
        return rest

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command does, and what its argument SCORES is."""
        text = shown_text(ctx, self.help or "")
        if scores_argument_of(self) is not None:
            text = f"{text}\n\n{_SCORES}"
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the general options, then the options of each benchmark; the text above explains arguments."""
        declared = self._declared(ctx)
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        sections = [("Options", [option for option in options if option.name not in declared])]
        of_benchmarks: dict[str, list[click.Option]] = {}
        for option, owners in declared.values():
            of_benchmarks.setdefault(joined([owner.title for owner in owners]), []).append(_click_option(option))
        sections += [(f"Options of {titles}", own) for titles, own in of_benchmarks.items()]
        for title, options in sections:
            if listed_options := shown_options(ctx, options):
                with formatter.section(title):
                    formatter.write_dl(listed_options)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, and how to see every option."""
        folds = any(isinstance(param, FoldedOption) for param in self.get_params(ctx))
        folds |= shown_text(ctx, self.help or "") != cleandoc(self.help or "")
        write_end(ctx, formatter, self.examples, folds=folds)

    def _benchmarks(self, ctx: click.Context) -> tuple[Benchmark, ...]:
        name = ctx.meta.get("benchmark")
        known = {benchmark.name for benchmark in BENCHMARKS}
        if name is None or name in known:
            return BENCHMARKS
        if "" not in sys.path:
            sys.path.append("")  # The folder of the call; a module in it takes the place of no installed one.
        with mistakes():
            return (benchmark_named(name), *BENCHMARKS)  # An option of the benchmark in use comes first.

    def _declared(self, ctx: click.Context) -> dict[str, tuple[Option | Choice, list[Benchmark]]]:
        """Return the options that benchmarks declare for this verb, with the benchmarks that declare them."""
        found: dict[str, tuple[Option | Choice, list[Benchmark]]] = {}
        for benchmark in self._benchmarks(ctx):
            options: list[Option | Choice] = [option for option in benchmark.options if self.own in option.verbs]
            options += benchmark.choices if self.variants else ()
            for option in options:
                found.setdefault(option.name, (option, []))[1].append(benchmark)
        return found


def _no_option(ctx: click.Context, error: click.NoSuchOption, words: Sequence[str]) -> str:
    """Return what to do about an option that a command does not have: which command has it."""
    flag = error.option_name
    if scores_argument_of(ctx.command) is not None and flag in {"--results", "--data", "--ground-truth"}:
        after = next((word for word, before in zip(words[1:], words, strict=False) if before == flag), None)
        makes = "attune-bench score --results RESULTS --data DATA"
        if after and flag == "--results":
            if Path(after).is_file() and (after.lower().endswith(TABLES_ALONE) or is_score_file(after)):
                return f"{ctx.info_name} has no --results; write: {ctx.command_path} {shlex.quote(after)}"
            makes = makes.replace("RESULTS", shlex.quote(after))
        return f"{ctx.info_name} has no {flag}, it takes scores; first: {makes}, then: {ctx.command_path} scores.json"
    if flag in {"-o", "--output"}:
        return f"{ctx.info_name} has no {flag}; write what it prints to a file: {ctx.command_path} ... > FILE"
    owners = list(_owners(ctx.find_root(), flag))
    if not owners:
        return error.format_message()
    return f"{ctx.info_name} has no {flag}, which is an option of {listed(owners, 3)}"


def _owners(root: click.Context, flag: str) -> Iterator[str]:
    """Yield the commands that have an option, with the benchmarks that declare it there."""
    for name, command in _commands(root.command, root):
        ctx = click.Context(command, parent=root, info_name=name)
        declared = command._declared(ctx) if isinstance(command, VerbCommand) else {}
        for param in command.get_params(ctx):
            if flag in param.opts and isinstance(param, click.Option):
                _, owners = declared.get(param.name or "", (None, []))
                of = f" ({listed([owner.title for owner in owners])})" if owners else ""
                yield f"attune-bench {name}{of}"


def _commands(command: click.Command | None, ctx: click.Context, *names: str) -> Iterator[tuple[str, click.Command]]:
    """Yield a command with its name, or every command of a group."""
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            yield from _commands(command.get_command(ctx, name), ctx, *names, name)
    elif command is not None:
        yield " ".join(names), command


def _click_option(option: Option | Choice) -> click.Option:
    """Return what a benchmark declares as an option of click."""
    flag, kind = f"--{option.name.replace('_', '-')}", option.values
    if isinstance(option, Choice):
        said = f"{option.help[:1].upper()}{option.help[1:]}. By default as in the file, where score writes "
        return FoldedOption([flag, option.name], type=click.Choice(kind), help=f"{said}{kind[0]}.")
    help_text = f"{option.help} Repeatable." if option.multiple else option.help
    folded = not (option.required or option.is_common)
    attributes = _attributes(help_text, kind or option.kind, folded=folded, multiple=option.multiple, default=None)
    option_class: type[click.Option] = attributes.pop("cls")
    return option_class([option.flag or flag, option.name], **attributes)


def _expanded(args: Sequence[str], params: Sequence[click.Parameter]) -> list[str]:
    """Return arguments in which every value of a list stands after the list's name."""
    lists = {name for param in params if isinstance(param, click.Option) and param.multiple for name in param.opts}
    found: list[str] = []
    name, values = "", 0
    for place, word in enumerate(args):
        if word == "--":
            return [*found, *args[place:]]
        key, joined, value = word.partition("=")
        if joined and key in lists:
            name, values = key, 1
            found += [name, value]
        elif word.startswith("-") and word != "-":
            if name and not values:
                raise UserError(f"{name} is given without a value; give one or more, or leave it out")
            name, values = (word if word in lists else ""), 0
            found += [] if name else [word]
        elif name:
            found += [name, word]
            values += 1
        else:
            found.append(word)
    if name and not values:
        raise UserError(f"{name} is given without a value; give one or more, or leave it out")
    return found


def own_options(ctx: click.Context, benchmark: Benchmark, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given values of a benchmark's own options; refuse options of another benchmark by name.

    Raises
    ------
    UserError
        Where an option was given that the benchmark does not have, or one that it requires was not.
    """
    command = ctx.command
    assert isinstance(command, VerbCommand)  # noqa: S101 - every command here is one
    own = {option.name: option for option in benchmark.options if command.own in option.verbs}
    found: dict[str, Any] = {}
    for name, (option, owners) in command._declared(ctx).items():
        if isinstance(option, Choice):
            continue
        flag = option.flag or f"--{name.replace('_', '-')}"
        if was_given(ctx, name) and name not in own:
            of = " and ".join(owner.title for owner in owners)
            forced = "" if ctx.params.get("benchmark") else f", or give --benchmark {owners[0].name}"
            raise UserError(f"{flag} is an option of {of}, and this is {benchmark.title}; leave it out{forced}")
        if name in own:
            if own[name].required and not was_given(ctx, name):
                raise UserError(f"{benchmark.title} needs {flag}: {own[name].help}")
            if was_given(ctx, name):
                found[name] = given[name]
    return found


def was_given(ctx: click.Context, name: str) -> bool:
    """Tell whether an option or argument is in the command line."""
    return ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE


where_option = many("--where", "TRAIT=VALUE. Repeat a trait for OR; different traits are combined with AND.")


def where_traits(where: Sequence[str]) -> dict[str, list[str]]:
    """Return the values that are asked for, by trait; each is read as the type of its column when it is asked for.

    Examples
    --------
    >>> where_traits(["scene=repair", "scene=charm", "split=test"])
    {'scene': ['repair', 'charm'], 'split': ['test']}
    """
    found: dict[str, list[str]] = {}
    for text in where:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UserError(f"--where {text!r} is not of the form TRAIT=VALUE")
        if name.endswith(("!", "<", ">")):
            raise UserError(
                f"--where {text!r}: --where chooses equal values only, with TRAIT=VALUE; describe --where TRAIT=VALUE "
                "--compare shows a group and the others, export without --where writes all records with their traits"
            )
        found.setdefault(name, []).append(CliValue(value))
    return found


benchmark_option = partial(option, "--benchmark")
own_benchmark_option = benchmark_option("Your benchmark, as module:NAME.", folded=True)
output_option = partial(option, "--output -o", kind=FILE)


def data_option(what: str) -> Callable[[F], F]:
    """Return the decorator that adds ``--data``, and ``--ground-truth`` for it; `what` begins its help."""
    return option("--data --ground-truth data", f"{what}: {_SOURCE}.")


def results_option(what: str, *, name: str = "--results", **attributes: Any) -> Callable[[F], F]:
    """Return the decorator that adds ``--results``, or another option for results; `what` begins its help."""
    return many(name, f"{what}: {_SOURCE}.", **attributes)


columns_option = option(
    "--columns", "Columns of a table that have another name: unit=item_id,model=system,value=accuracy."
)


_SCORES = (
    "SCORES is what attune-bench score wrote, or a table: CSV, XLSX, JSONL or Parquet, with the columns model, unit, "
    "metric, value, with a column for each metric or model, of ratings with item, responder, rater, dimension, "
    "rating, or of comparisons with unit, a, b, winner."
)


class ScoresArgument(click.Argument):
    """The argument SCORES, with ``--scores`` as its alias; `VerbCommand` makes one parameter of the two.

    It is not required for click, because the file may be given by the alias; `needed` says whether one of both is.
    """

    alias = "scores_alias"

    def __init__(self, names: Sequence[str], *, needed: bool) -> None:
        super().__init__(names, required=False, type=NamedPath(), metavar="SCORES" if needed else "[SCORES]")
        self.needed = needed

    def join(self, ctx: click.Context) -> None:
        """Make the parameter ``scores`` of the argument or its alias; a path, or None."""
        first, named = ctx.params["scores"], ctx.params.pop(self.alias)
        if first is not None and named is not None:
            if "name" not in ctx.params:
                raise click.UsageError(f"scores are given twice: {first} and --scores {named}; leave one out", ctx)
            ctx.params["name"], first = (first, *ctx.params["name"]), None  # All arguments are names of analyses.
        found = named if first is None else first
        if found is None and self.needed:
            raise click.UsageError(no_scores(ctx), ctx)
        ctx.params["scores"] = None if found is None else Path(found)


def scores_argument_of(command: click.Command) -> ScoresArgument | None:
    """Return the argument SCORES of a command, None where it has none."""
    return next((param for param in command.params if isinstance(param, ScoresArgument)), None)


def scores_argument(*, needed: bool = True) -> Callable[[F], F]:
    """Return the decorator that adds the argument SCORES, its alias ``--scores``, and ``--columns``."""
    alias = option(f"--scores {ScoresArgument.alias}", "The same as SCORES.", NamedPath(), folded=True)
    return all_of(click.argument("scores", cls=ScoresArgument, needed=needed), alias, columns_option)


scores_option = all_of(scores_argument(), own_benchmark_option)
"""The argument SCORES, its alias ``--scores``, and the options ``--columns`` and ``--benchmark``."""


def no_scores(ctx: click.Context) -> str:
    """Say that SCORES is missing; where a list has taken the file as its value, say so."""
    for param in ctx.command.params:
        values = ctx.params.get(param.name or "")
        if isinstance(values, tuple) and values and isinstance(param, click.Option) and Path(values[-1]).is_file():
            rest = shlex.join(map(str, values[:-1]))
            instead = f"{ctx.command_path} {values[-1]} {param.opts[0]} {rest}".strip()
            return f"SCORES is missing: {values[-1]} is read as a value of {param.opts[0]}; write: {instead} ..."
    results = ", or what models made: --results RESULTS --data DATA" if "results" in ctx.params else ""
    return f"SCORES is missing; name a file of scores or a table, for instance: {ctx.command_path} scores.json{results}"
