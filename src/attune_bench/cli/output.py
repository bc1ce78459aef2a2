"""What commands print: text in the width of the terminal, warnings, mistakes in one line, progress."""

import re
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from errno import EACCES, EPERM, EROFS
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any, TypeVar

from attune_bench.benchmarks import BENCHMARKS
from attune_bench.scores.benchmark import Benchmark
from attune_data.codebook import CodebookError
from attune_data.collection import Kind
from attune_data.issues import Issue
from attune_data.references import resolve
from attune_data.text import columns_of_terminal, wrapped

if TYPE_CHECKING:
    from attune_bench.report.transcripts import TranscriptFolder

T = TypeVar("T")


_ARGUMENT = re.compile(r"\w+=True \((--[\w-]+)\)")


class UserError(ValueError):
    """A mistake of the user; its text says what to do, with options where the library names arguments of Python."""

    def __init__(self, text: str) -> None:
        super().__init__(_ARGUMENT.sub(r"\1", text))


@contextmanager
def mistakes() -> Iterator[None]:
    """Turn what the library says of its arguments into an error of the user's; several mistakes become one line."""
    try:
        yield
    except CodebookError as error:
        first, *rest = str(error).splitlines()
        raise UserError(": ".join(filter(None, [first, "; ".join(rest)]))) from None
    except ValueError as error:
        raise UserError(str(error)) from None


def with_warnings(analysis: Callable[[], T]) -> tuple[T, list[str]]:
    """Return what an analysis gives, and its warnings as sentences."""
    with mistakes(), _sentences() as said:
        found = analysis()
    return found, said


@contextmanager
def warnings_on_stderr() -> Iterator[None]:
    """Write the warnings of analyses to standard error, for outputs that have no place for sentences."""
    with _sentences() as said:
        yield
    write_warnings(said)


def write_warnings(sentences: Sequence[str]) -> None:
    """Write sentences to standard error, a line each."""
    sys.stderr.writelines(f"attune-bench: {sentence}\n" for sentence in sentences)


@contextmanager
def _sentences() -> Iterator[list[str]]:
    """Give a list that has the warnings as sentences, each once, when the block has ended."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield said
    found = [f"Warning: {warning.message}." for warning in caught if issubclass(warning.category, UserWarning)]
    said += dict.fromkeys(found)


def emit(text: str) -> None:
    """Write text to standard output, with one newline at its end."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


WORDS = "words"
"""The key, in the `meta` of a context, of the words that were typed after the name of a command."""


def say(text: str) -> None:
    """Write sentences to standard output: to a terminal in lines that fit, else each in one."""
    emit("\n".join(wrapped(text, columns_of_terminal())) if sys.stdout.isatty() else text)


def check_output(folder: Path, data: str) -> None:
    """Refuse a folder of results among the data: the next reading of these would find the results in it."""
    if Path(data).is_dir() and folder.resolve().is_relative_to(Path(data).resolve()):
        raise UserError(f"--output {folder} is in {data}, which is read as data; choose a folder elsewhere")


def check_page(path: Path, inputs: Sequence[str | Path | None]) -> None:
    """Refuse a target that no page can or should be written to."""
    if path.is_dir():
        raise UserError(f"--html {path} is a folder; name a file in it, such as {path / 'page.html'}")
    if path.suffix.lower() != ".html":
        instead = shlex.quote(str(path.with_suffix(".html"))) if path.name else "page.html"
        raise UserError(f"--html {path} does not end in .html; try --html {instead}")
    check_file(path, inputs, "--html")


def check_file(path: Path, inputs: Sequence[str | Path | None], option: str) -> None:
    """Refuse a file of an option that is in no folder, or would replace an input."""
    if not path.parent.is_dir():
        raise UserError(f"no such folder: {path.parent}; create it or choose another {option}")
    if any(source is not None and path.resolve() == Path(source).resolve() for source in inputs):
        raise UserError(f"{path} is an input; choose another {option}")


@contextmanager
def writing(path: Path, option: str) -> Iterator[None]:
    """Turn an error of the disk into an error of the user's, which says where else to write, by which option.

    Raises
    ------
    UserError
        Where the block cannot write `path`.
    """
    try:
        yield
    except OSError as error:
        if error.strerror is None:  # an error of the library; its text is a sentence
            missing = isinstance(error, FileNotFoundError)
            raise UserError(f"{path} cannot be written: {error}; create it" if missing else str(error)) from None
        elsewhere = ""
        if error.errno in (EACCES, EPERM, EROFS):
            elsewhere = f", for instance {option} {shlex.quote(str(Path.home() / path.name))}"
        raise UserError(f"{path} cannot be written: {error.strerror}; choose another {option}{elsewhere}") from None


def write_page(path: Path, text: str, beside: "TranscriptFolder | None" = None) -> None:
    """Write a page of HTML, and what goes beside it, and say so."""
    from attune_data.io.documents import write_whole

    made = beside.files if beside else {}
    with writing(path, "--html"):
        if beside and made:
            beside.write(path.parent)
        write_whole(path, [text.encode()])
    if beside and made:
        whole = sum(len(one.encode()) for one in made.values())
        say(f"{path}: {_size(len(text.encode()))}, opens in any browser")
        say(f"{path.with_name(beside.name)}: {len(made)} transcripts, {_size(whole)}; pass it on with the page")
    else:
        say(f"{path}: {_size(len(text.encode()))}, self-contained, opens in any browser")
        if beside and (earlier := path.with_name(beside.name)).exists():
            say(f"{earlier}: transcripts of an earlier page, which this one does not need; remove them")


def _size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"


Phase = Callable[[str, int | None], Callable[[int], None]]

_QUIET_SECONDS = 2.0


@contextmanager
def progress() -> Iterator[Phase]:
    """Yield a function that begins a phase, given the name and the total of the counted things (None: unknown).

    That function returns a function that takes the number done. On a terminal a bar appears on standard error two
    seconds after the beginning, and goes at the end.
    """
    if not sys.stderr.isatty():
        yield lambda _what, _total: lambda _done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(file=sys.stderr), transient=True)
    # By a timer: a phase may say nothing until it is done.
    timer = Timer(_QUIET_SECONDS, bar.start)
    timer.daemon = True

    def phase(what: str, total: int | None) -> Callable[[int], None]:
        task = bar.add_task(what, total=total)
        return lambda done: bar.update(task, completed=done)

    timer.start()
    try:
        yield phase
    finally:
        timer.cancel()
        timer.join()
        if bar.live.is_started:
            bar.stop()


@contextmanager
def page_progress() -> Iterator[Callable[[str], None]]:
    """Yield a function that begins a phase of making a page, given its name; the phase before is done then."""
    with progress() as phase:
        under_way: list[Callable[[int], None]] = []

        def begin(what: str) -> None:
            for update in under_way:
                update(1)
            under_way[:] = [phase(what, 1)]

        yield begin


def kind_of(reference: Any) -> Kind[Any, Any]:
    """Return the kind of record that a benchmark's entry names."""
    found: Kind[Any, Any] = resolve(reference)
    return found


def command_line(name: str, arguments: Sequence[str], options: Mapping[str, Any]) -> str:
    """Return a command line of what was parsed, so that no key can be in it; options of None are left out."""
    words = ["attune-bench", name, *arguments]
    for flag, value in options.items():
        if value is not None:
            words += [flag, *(value if isinstance(value, tuple) else [str(value)])]
    return shlex.join(words)


def validate_command(
    sources: Sequence[str],
    results: Sequence[str] = (),
    *,
    benchmark: Benchmark | None = None,
    forced: str | None = None,
) -> str:
    """Return the command that lists the issues of sources; it names the benchmark where the sources do not tell it."""
    named = forced or (benchmark.name if benchmark not in (None, BENCHMARKS[0]) and sources[0] == "demo" else None)
    return command_line("validate", sources, {"--results": tuple(results) or None, "--benchmark": named})


def first_issue(found: Sequence[Issue]) -> str:
    """Return the first of the worst findings, as the end of a sentence."""
    first = min((issue for issue in found if issue.severity != "note"), key=lambda issue: issue.severity, default=None)
    return f"; the first: {first.file} {first.path}: {first.message}; {first.consequence}" if first else ""
