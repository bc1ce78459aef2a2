"""The options of all commands that ask models, and their mistakes as one line."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from attune_bench._usage import UsageError, mistakes
from attune_bench.runner.folder import RunError
from attune_bench.runner.jobs import RunOptions
from attune_bench.runner.prices import PriceError, read_prices
from attune_bench.runner.providers import OPENAI_COMPATIBLE, Endpoint, Provider, ProviderError
from attune_data import CodebookError

__all__ = ["Asking", "Names", "Output", "Provider", "Temperature", "sent", "usage_errors"]

Temperature = float | Literal["server"]
Names = Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")]
Output = Annotated[Path, Parameter(name=["--output", "-o"])]


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn what the user can mend into one line; Ctrl-C too, with exit status 130."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write("attune-bench: stopped; the same command goes on from here\n")
        sys.exit(130)
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}") from None
    except (RunError, ProviderError, PriceError, CodebookError) as error:
        raise UsageError(str(error)) from None


def sent(temperature: Temperature) -> float | None:
    """Return the temperature that is sent, None for the server's own."""
    return None if temperature == "server" else temperature


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
        URL of an OpenAI-compatible server, such as http://localhost:8000/v1.
    api_key
        The key of that provider; it can be read by other users of the machine, who see the command. Better set it in
        the environment.
    """

    concurrency: int = 8
    call_timeout: float = 120.0
    max_cost: float | None = None
    prices: Path | None = None
    seed: int | None = None
    temperature: Temperature
    max_tokens: int
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)

    def options(self) -> RunOptions:
        """Return how a run is made."""
        known = read_prices(self.prices) if self.prices else {}
        with mistakes():
            return RunOptions(self.concurrency, self.call_timeout, self.max_cost, known)

    def decoding(self) -> dict[str, Any]:
        """Return the settings of any benchmark that say how responses are decoded."""
        return {"seed": self.seed, "temperature": sent(self.temperature), "max_tokens": self.max_tokens}

    def changed(self, servers: Iterable[Endpoint]) -> dict[str, Any]:
        """Return the options by name, None for those at their default; without secrets."""
        # The URL is that of the OpenAI-compatible one among them, which need not be the model's.
        url = next((server.url for server in servers if server.provider == OPENAI_COMPATIBLE), None)
        values = asdict(replace(self, api_key=None, base_url=self.base_url and url))
        names = {each.name: each.default for each in fields(self)}
        return {f"--{name.replace('_', '-')}": None if values[name] == names[name] else values[name] for name in names}
