"""What a run will take, before anything is sent."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from attune_bench.runner.calls import Call, Decoding, Role
from attune_bench.runner.prices import Price, dollars, most_tokens
from attune_data.text import plural

__all__ = ["Estimate", "calls_within", "estimate", "estimate_text"]

_BYTES = 4  # to a token, in English and Chinese text
_TEXT = 500  # characters of a text that is asked for, as a draft
_UNLIMITED = "the most is not known, as answers of the model have no limit (--max-tokens server)"


@dataclass(slots=True)
class Estimate:
    """Calls of one model, and tokens of prompts and responses: about, and at most.

    An answer that cannot be read is asked for again, which none of these numbers includes. What has no limit is at most
    infinite.
    """

    calls: int = 0
    prompt: int = 0
    most_prompt: float = 0
    completion: int = 0
    most_completion: float = 0

    def add(self, call: Call, decoding: Mapping[Role, Decoding]) -> None:
        """Add a call, with how the calls of each role are decoded."""
        limits = {role: math.inf if own.max_tokens is None else own.max_tokens for role, own in decoding.items()}
        limit = limits[call.role]
        self.calls += 1
        self.prompt += (call.size + call.pending * _TEXT) // _BYTES
        self.most_prompt += most_tokens(call)
        if call.pending:
            # What it quotes may be of another role, whose answers have no limit.
            self.most_prompt += call.pending * (math.inf if math.inf in limits.values() else limit)
        self.completion += int(min(_characters(call.schema) // _BYTES, limit))
        self.most_completion += limit


def estimate(calls: Iterable[Call], decoding: Mapping[Role, Decoding]) -> dict[str, Estimate]:
    """Return the estimate of each model that calls are for.

    Parameters
    ----------
    calls : iterable of Call
        The calls.
    decoding : mapping of str to Decoding
        How they are decoded, by the role of who is asked.

    Returns
    -------
    dict of str to Estimate
        By the name of the model.

    Examples
    --------
    >>> call = Call("post", "m", "model", ({"role": "user", "content": "Hello you"},), {"type": "string"}, "post")
    >>> estimate([call, call], {"model": Decoding(0.0, None, 100)})["m"]
    Estimate(calls=2, prompt=4, most_prompt=102, completion=200, most_completion=200)
    """
    each: dict[str, Estimate] = {}
    for call in calls:
        each.setdefault(call.model, Estimate()).add(call, decoding)
    return each


def estimate_text(each: Mapping[str, Estimate], prices: Mapping[str, Price]) -> str:
    """Return estimates as lines, with the cost where the price is known."""
    lines = []
    for model, one in each.items():
        is_limited = math.isfinite(one.most_prompt + one.most_completion)
        most = f"at most {one.most_prompt:,} and {one.most_completion:,}" if is_limited else _UNLIMITED
        lines.append(
            f"{model}: {plural(one.calls, 'call')}, about {one.prompt:,} tokens of prompts and {one.completion:,} of "
            f"answers; {most}"
        )
        if model in prices:
            about = dollars(prices[model].of(one.prompt, one.completion))
            most = dollars(prices[model].of(one.most_prompt, one.most_completion)) if is_limited else ""
            lines.append(
                f"  cost: about {about} USD, " + (f"at most {most} USD" if is_limited else "at most not known")
            )
        else:
            lines.append("  cost: not known, as the price is not")
    return "\n".join(lines)


def calls_within(
    calls: Iterable[Call], decoding: Mapping[Role, Decoding], prices: Mapping[str, Price], limit: float
) -> int:
    """Return after how many calls, by their estimates, a limit of the cost stops a run that makes one after another.

    Parameters
    ----------
    calls : iterable of Call
        The calls in order.
    decoding : mapping of str to Decoding
        How they are decoded, by the role of who is asked.
    prices : mapping of str to Price
        Of every model that is asked.
    limit : float
        US dollars.

    Returns
    -------
    int
        All of them, where the limit does not stop the run.

    Examples
    --------
    At 1 USD for a token, a call of 2 tokens whose answer takes 100 of the 200 that it may take:

    >>> call = Call("post", "m", "model", ({"role": "user", "content": "Hello you"},), {"type": "string"}, "post")
    >>> prices = {"m": Price(1e6, 1e6)}
    >>> [calls_within([call] * 9, {"model": Decoding(0.0, None, 200)}, prices, limit) for limit in (200, 400, 4000)]
    [0, 2, 9]
    """
    spent, count = 0.0, 0
    for call in calls:
        one, price = Estimate(), prices[call.model]
        one.add(call, decoding)
        # As the runner does: what the next call may cost at most has to fit.
        if spent + price.of(one.most_prompt, one.most_completion) > limit:
            break
        spent += price.of(one.prompt, one.completion)
        count += 1
    return count


def _characters(schema: Mapping[str, Any]) -> int:
    """Return the typical length of an answer of a schema, or in free text."""
    if not schema:
        return _TEXT
    if "enum" in schema:
        return round(fmean(len(str(option)) + 2 for option in schema["enum"]))
    if schema["type"] == "object":
        return sum(len(name) + 6 + _characters(inner) for name, inner in schema["properties"].items())
    return 2 * _characters(schema["items"]) if schema["type"] == "array" else _TEXT
