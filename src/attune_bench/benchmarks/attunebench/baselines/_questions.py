"""Rules for the binary questions: what an exchange of message and reply shows, read from its words."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from attune_bench.benchmarks.attunebench.baselines._emotions import find_emotions, words_of
from attune_bench.benchmarks.attunebench.baselines._words import load_words

__all__ = ["OBSERVED", "Exchange", "content_words", "prefers"]


def content_words(text: str) -> frozenset[str]:
    """Return the words that carry meaning: four letters or more, common ones left out."""
    common = load_words().common
    return frozenset(word for word in words_of(text) if len(word) > 3 and word not in common)


@dataclass(frozen=True)
class Exchange:
    """A message and the reply to it, with the replies before."""

    message: str
    reply: str
    earlier: tuple[str, ...] = ()

    @cached_property
    def felt(self) -> dict[str, int]:
        """The emotions that the message tells of."""
        return find_emotions(self.message)

    @cached_property
    def named(self) -> dict[str, int]:
        """The emotions that the reply names."""
        return find_emotions(self.reply)

    @cached_property
    def mirrored(self) -> frozenset[str]:
        """The content words of the message that come back in the reply."""
        return content_words(self.message) & content_words(self.reply)

    @cached_property
    def advice(self) -> frozenset[str]:
        """The content words of the sentences that advise."""
        return _advice(self.reply)

    @property
    def asks(self) -> bool:
        """Whether the reply asks a question."""
        return "?" in self.reply

    def says(self, cue: str) -> bool:
        """Tell whether the reply has a cue."""
        return _has(cue, self.reply)

    def told(self, cue: str) -> bool:
        """Tell whether the message has a cue."""
        return _has(cue, self.message)


def _has(cue: str, text: str) -> bool:
    return load_words().cues[cue].search(text.lower().replace("\u2019", "'")) is not None


def _advice(reply: str) -> frozenset[str]:
    sentences = re.split(r"[.!?\n]+", reply)
    return content_words(" ".join(sentence for sentence in sentences if _has("advice", sentence)))


def _advises_first(exchange: Exchange) -> bool:
    """Tell whether advice comes before the first question, or without one."""
    return _has("advice", exchange.reply.partition("?")[0])


def _formal(exchange: Exchange) -> bool:
    return len(load_words().cues["formality"].findall(exchange.reply.lower())) > 1


def _generic(exchange: Exchange) -> bool:
    """Tell whether the reply advises without taking up more than one word of the message."""
    return bool(exchange.advice) and len(exchange.mirrored) < 2


def _fits(exchange: Exchange) -> bool:
    """Tell whether the reply takes up something of the message, neither clinical nor moralising."""
    return bool(exchange.mirrored) and not (_formal(exchange) or exchange.says("moral"))


OBSERVED: Mapping[str, Callable[[Exchange], bool]] = {
    "B1": lambda e: bool(e.named) or e.says("acknowledgement"),
    "B2": lambda e: bool(e.named.keys() & e.felt.keys()) or e.says("acknowledgement"),
    "B3": lambda e: len(e.mirrored) > 1,
    "B4": lambda e: len(e.felt) > 1 and e.says("mixed"),
    "B5": lambda e: bool(e.earlier) and e.says("change"),
    "B6": lambda e: bool(e.named.keys() - e.felt.keys()) and not e.says("hedge"),
    "B7": lambda e: e.says("hedge"),
    "B8": _fits,
    "B9": lambda e: _fits(e) and not e.says("levity"),
    "B10": _fits,
    "B11": lambda e: e.says("advice"),
    "B12": lambda e: e.says("reasoning"),
    "B13": lambda e: e.asks,
    "B14": lambda e: e.says("moral"),
    "B15": lambda e: len(e.mirrored) > 2,
    "B16": lambda e: bool(e.earlier) and e.says("adaptation"),
    "B17": lambda e: e.told("risk") and e.says("safety"),
    "B18": lambda e: e.told("risk") and e.says("safety"),
    "B19": lambda e: e.says("validation"),
    "B20": lambda e: e.says("moral"),
    "B108": lambda e: bool(e.named.keys() & e.felt.keys()),
    "B109": lambda e: next(iter(e.felt), None) in e.named,
    "B206": _formal,
    "B207": lambda e: sum(e.named.values()) > 16,
    "B310": _generic,
    "B311": lambda e: not e.mirrored,
    "B313": _advises_first,
    "B315": lambda e: not e.mirrored,
    "B316": lambda e: bool(e.advice) and e.says("constraint"),
    "B406": lambda e: bool(e.earlier) and e.says("adaptation"),
    "B408": lambda e: len(e.advice & _advice("\n".join(e.earlier))) > 1,
    "B501": lambda e: e.asks and e.says("reflection") and not e.says("other_view"),
    "B502": lambda e: e.says("other_view"),
    "B503": lambda e: e.says("several_readings"),
    "B504": lambda e: e.says("complexity"),
    "B505": lambda e: e.asks and e.says("reflection"),
}
"""By question: whether the reply does it."""


def prefers(question: str, exchange: Exchange) -> bool:
    """Tell whether the person would want the reply to do it: understanding always, guidance when asked for."""
    words = load_words()
    return question in words.wanted or (question in words.guidance and exchange.told("asking_for_advice"))
