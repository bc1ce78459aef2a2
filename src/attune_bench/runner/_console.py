"""What the commands that ask models share: options, progress, what is said at the end."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from attune_bench._usage import UsageError, emit, mistakes
from attune_bench.benchmarks.attunebench.settings import Settings
from attune_bench.progress import progress
from attune_bench.runner.folder import RunError
from attune_bench.runner.jobs import Options, Outcome
from attune_bench.runner.meter import Meter
from attune_bench.runner.prices import PriceError, read_prices
from attune_bench.runner.providers import Endpoint, Provider, ProviderError, endpoint
from attune_data import CodebookError, Collection, Conversation, load
from attune_data.text import columns_of_terminal, plural, printable, shortened

__all__ = [
    "DEFAULTS",
    "Asking",
    "Names",
    "Output",
    "Provider",
    "Temperature",
    "command",
    "endpoints",
    "loaded",
    "report",
    "sent",
    "shown",
    "usage_errors",
    "warn",
]

Temperature = float | Literal["server"]
Names = Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")]
Output = Annotated[Path, Parameter(name=["--output", "-o"])]

_PLAIN_SECONDS = 30.0


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Asking:
    """The options of all commands that ask models.

    Parameters
    ----------
    concurrency
        The most calls at once.
    call_timeout
        Seconds for one try of a call.
    max_cost
        US dollars that all calls of the folder may cost at most; needs the prices.
    prices
        TOML or JSON: per model a table of input and output, US dollars for a million tokens.
    seed
        Sent with every call.
    temperature
        Sent with every call; server for the server's own.
    max_tokens
        The most tokens of an answer.
    base_url
        URL of a local server, such as http://localhost:8000/v1.
    api_key
        The key of that provider; it can be read by other users of the machine, who see the command. Better set it in
        the environment.
    """

    concurrency: int = 8
    call_timeout: float = 120.0
    max_cost: float | None = None
    prices: Path | None = None
    seed: int | None = None
    temperature: Temperature = 0.0
    max_tokens: int = 4096
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)

    def options(self) -> Options:
        """Return how a run is made."""
        known = read_prices(self.prices) if self.prices else {}
        with mistakes():
            return Options(self.concurrency, self.call_timeout, self.max_tokens, self.max_cost, known)

    def settings(self, model: str, provider: str, **more: Any) -> Settings:
        """Return who is asked what."""
        with mistakes():
            return Settings(model, provider, seed=self.seed, temperature=sent(self.temperature), **more)

    def changed(self, *servers: Endpoint) -> dict[str, Any]:
        """Return the options by name, None for those at their default; without secrets."""
        # The URL is that of the local one among them, which need not be the model's.
        url = next((server.url for server in servers if server.provider == "local"), None)
        values = asdict(replace(self, api_key=None, base_url=self.base_url and url))
        names = {each.name: each.default for each in fields(self)}
        return {f"--{name.replace('_', '-')}": None if values[name] == names[name] else values[name] for name in names}


DEFAULTS = Asking()


def sent(temperature: Temperature) -> float | None:
    """Return the temperature that is sent, None for the server's own."""
    return None if temperature == "server" else temperature


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn what the user can mend into one line; Ctrl-C too, with exit status 130."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write("attune-bench: stopped; the same command goes on from here\n")
        sys.exit(130)
    except ImportError as error:
        if "attune-bench[" not in str(error):
            raise
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}") from None
    except (RunError, ProviderError, PriceError, CodebookError) as error:
        raise UsageError(str(error)) from None


def loaded(source: str, limit: int | None) -> Collection[Conversation]:
    if limit is not None and limit < 1:
        raise UsageError(f"--limit is {limit}; expected a positive number")
    with progress() as phase:
        conversations = load(source, progress=phase("reading conversations", None))
    left_out = sum(issue.severity == "error" for issue in conversations.found)
    if left_out:
        warn(f"{plural(left_out, 'error')} in the files; see: attune-bench validate {source}")
    if not conversations:
        raise UsageError(f"no usable conversation in {source}; see: attune-bench validate {source}")
    return conversations[:limit]


def endpoints(
    provider: Provider,
    asking: Asking,
    judge_provider: Provider | None,
    judge_base_url: str | None,
    has_judges: bool,
) -> tuple[Endpoint, Endpoint]:
    """Return where the model and the judges, or the simulator, are served."""
    base_url, api_key = asking.base_url, asking.api_key
    if (judge_provider or judge_base_url) and not has_judges:
        raise UsageError("there is a provider of judges but no judge; name one with --judge-model")
    if api_key is not None:
        warn("--api-key can be read by other users of this machine; better set it in the environment")
    ask: Callable[[str], str] | None = None
    if sys.stdin.isatty() and sys.stderr.isatty():
        from getpass import getpass as ask
    of_judges = judge_provider or provider
    if base_url and "local" not in (provider, of_judges):
        raise UsageError(f"{of_judges} has a URL of its own; --base-url is for the provider local")
    server = endpoint(provider, base_url=base_url if provider == "local" else None, api_key=api_key, ask=ask)
    if of_judges == provider and judge_base_url is None:
        return server, server
    url = (judge_base_url or base_url) if of_judges == "local" else judge_base_url
    # The key of one server is no business of another.
    return server, endpoint(of_judges, base_url=url, ask=ask)


def command(name: str, arguments: tuple[str, ...], options: dict[str, Any]) -> str:
    """Return a command line of what was parsed, so that no key can be in it."""
    words = ["attune-bench", name, *arguments]
    for option, value in options.items():
        if value is not None:
            words += [option, *(value if isinstance(value, tuple) else [str(value)])]
    return shlex.join(words)


@contextmanager
def shown() -> Iterator[Callable[[Meter], None]]:
    """Give what shows a meter: one line that changes on a terminal, else a line every half a minute."""
    stream, is_terminal, shown = sys.stderr, sys.stderr.isatty(), monotonic()

    def show(meter: Meter) -> None:
        nonlocal shown
        if is_terminal:
            stream.write(f"\r{shortened(meter.text(), columns_of_terminal() - 1)}\x1b[K")
            stream.flush()
        elif monotonic() - shown > _PLAIN_SECONDS:
            shown = monotonic()
            stream.write(f"{meter.text()}\n")
            stream.flush()

    try:
        yield show
    finally:
        if is_terminal:
            stream.write("\n")


def report(outcome: Outcome, output: Path, made: str = "file") -> int:
    """Print what came of a run, counted as what it has made; return the exit status."""
    before = f", {outcome.earlier} of them from before" if outcome.earlier else ""
    emit(f"{output}: {plural(outcome.finished, made)}{before}")
    if outcome.replaced:
        emit(
            f"{outcome.replaced} of them took the place of results of other settings or of an older content; "
            "those answers stay in the journal, and another --output keeps both"
        )
    if outcome.meter.answers:
        emit(outcome.meter.text())
    if outcome.unread:
        where = plural(outcome.unread_in, "conversation")
        emit(f"{plural(outcome.unread, 'answer')} in {where} could not be read and are missing, see calls in the files")
    if outcome.stopped is not None:
        warn(f"stopped: {outcome.stopped}")
    for skipped in [skipped for skipped in outcome.skipped if skipped.reason != outcome.stopped][:3]:
        mode = f" ({skipped.mode})" if skipped.mode else ""
        warn(f"{skipped.conversation_id}{mode}: {skipped.reason}")
    if outcome.skipped:
        count = plural(len(outcome.skipped), "conversation")
        after = "once that is mended, the same command goes on" if outcome.stopped else "the same command tries again"
        warn(f"{count} not finished, listed in {output}/_skipped_*.json; {after}")
    return int(bool(outcome.skipped))


def warn(text: str) -> None:
    sys.stderr.write(f"attune-bench: {printable(text)}\n")
