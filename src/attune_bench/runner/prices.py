"""What calls cost: the prices of models, and an upper bound of the tokens of a prompt."""

import json
import math
import os
from dataclasses import dataclass

from attune_bench.runner.calls import Call
from attune_data.codebook import parse_toml
from attune_data.io.documents import parse_json, read_input

__all__ = ["Price", "PriceError", "dollars", "most_tokens", "read_prices"]


class PriceError(ValueError):
    """Prices cannot be read or are missing; the text says which and what to do."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens of prompts and of responses.

    Examples
    --------
    >>> Price(0.5, 2.0).of(1_000_000, 500_000)
    1.5
    """

    input: float
    output: float

    def of(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Return the price of a number of tokens, in US dollars."""
        return (self.input * prompt_tokens + self.output * completion_tokens) / 1e6


def read_prices(path: str | os.PathLike[str]) -> dict[str, Price]:
    r"""Read a file of prices.

    Parameters
    ----------
    path : str or path-like
        TOML, or JSON where the name ends so: per model a table with ``input`` and ``output``, in US dollars for a
        million tokens.

    Returns
    -------
    dict of str to Price
        By the name of the model.

    Raises
    ------
    PriceError
        Names the file, the place in it and the value.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "prices.toml")
    ...     _ = path.write_text('["vendor/model"]\ninput = 0.15\noutput = 0.6')
    ...     read_prices(path)
    {'vendor/model': Price(input=0.15, output=0.6)}
    """
    try:
        parse = parse_json if os.fspath(path).lower().endswith(".json") else parse_toml
        content = parse(read_input(path))
    except OSError as error:
        raise PriceError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise PriceError(f"{path}: {error}; prices are TOML, or JSON in a file of that ending") from None
    if not isinstance(content, dict) or not content:
        raise PriceError(f'{path}: holds no prices; expected ["MODEL"], then input = USD and output = USD')
    return {model: _price(entry, f"{path}: {model}") for model, entry in content.items()}


def _price(entry: object, place: str) -> Price:
    if not isinstance(entry, dict) or entry.keys() != {"input", "output"}:
        raise PriceError(f"{place}: {str(entry)[:60]!r} is not a table of input and output; quote a name with dots")
    for name, value in entry.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise PriceError(f"{place}.{name}: {str(value)[:60]!r} is not a price in US dollars for a million tokens")
    return Price(float(entry["input"]), float(entry["output"]))


def dollars(amount: float) -> str:
    """Return an amount in cents; what is less than one is not shown as nothing.

    Examples
    --------
    >>> dollars(1234.5), dollars(0.0), dollars(0.003)
    ('1,234.50', '0.00', '<0.01')
    """
    return "<0.01" if 0 < amount < 0.01 else f"{amount:,.2f}"


def most_tokens(call: Call) -> int:
    """Return more tokens than the prompt of a call has: one for every byte, which digits and symbols can take.

    Examples
    --------
    >>> most_tokens(Call("post", "m", "model", ({"role": "user", "content": "Hello you"},)))
    35
    """
    texts = [message["content"] for message in call.messages] + [json.dumps(call.schema)]
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) + 12 * len(texts)
