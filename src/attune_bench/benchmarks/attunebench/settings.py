"""What a run depends on apart from the conversation."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

from attune_bench.runner.answers import AnswerFormat, check_answer_format
from attune_bench.runner.calls import Decoding, Role
from attune_bench.runner.prompts import Prompts, load_prompts
from attune_data import Codebook, load_codebook
from attune_data.record import Mode

__all__ = ["MAX_TOKENS", "PACKAGE", "AttuneBenchSettings", "Strategy", "bundled_prompts"]

MAX_TOKENS = 4096
PACKAGE = "attune_bench.benchmarks.attunebench"

Strategy = Literal["absolute", "delta", "blind_delta"]


def bundled_prompts() -> Prompts:
    """Return the bundled wording of the requests, which one's own has to match."""
    return load_prompts(PACKAGE, "v2")


@dataclass(frozen=True, slots=True)
class AttuneBenchSettings:
    """Who is asked what, and how.

    Parameters
    ----------
    model : str
        The evaluated model, as its provider names it; ``em_model`` of the run files.
    mode : {"default", "verbose", "omniscient", "verbose_omniscient"}
        Verbose modes also ask for reasoning, omniscient ones show the participant's profile.
    judges : tuple of str
        The models that judge each draft; none for no judging.
    panas_strategy : {"absolute", "delta", "blind_delta"}
        How the PANAS after the conversation is asked for.
    seed : int, optional
        Sent with every call, for servers that take one; one more with each time that an answer is asked for again.
    temperature : float, optional
        Sent with every call; None for the server's own.
    max_tokens : int, optional
        The most tokens of a response; None for the server's own limit, where judges keep `MAX_TOKENS`.
    answer_format : {"schema", "free"}
        Whether calls are sent with the schema of their answer; a free answer is asked for once more than another.
    codebook : Codebook
        Where question texts and options come from: the bundled one, or the data set's own.
    prompts : Prompts
        The wording of the requests.
    reasoning_effort, extra_body
        Sent with the calls of the model where set, see `attune_bench.runner.Decoding`.
    judges_alone : bool
        Whether judges alone are asked, for drafts that exist; then they are sent what the model would be.

    Raises
    ------
    ValueError
        A mode or strategy that the codebook does not have, an unknown answer format, an empty name, a judge that is
        named twice, a temperature or a number of tokens out of range, or further parameters that cannot be sent.

    Examples
    --------
    >>> settings = AttuneBenchSettings("vendor/model", mode="verbose", judges=("vendor/judge",))
    >>> settings.verbose, settings.omniscient, sorted(settings.decoding)
    (True, False, ['judge', 'model'])
    """

    model: str
    mode: Mode = "default"
    judges: tuple[str, ...] = ()
    panas_strategy: Strategy = "absolute"
    seed: int | None = None
    temperature: float | None = 0.0
    max_tokens: int | None = MAX_TOKENS
    answer_format: AnswerFormat = "schema"
    codebook: Codebook = field(default_factory=load_codebook)
    prompts: Prompts = field(default_factory=bundled_prompts)
    reasoning_effort: str | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict, hash=False)
    judges_alone: bool = False
    # Kept, as every conversation asks for it.
    _codebook_hash: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not all((self.model, *self.judges)):
            raise ValueError("the name of a model is empty")
        if self.mode not in self.codebook.modes:
            raise ValueError(f"mode is {self.mode!r}; expected one of {', '.join(self.codebook.modes)}")
        if self.panas_strategy not in self.codebook.panas_strategies:
            known = ", ".join(self.codebook.panas_strategies)
            raise ValueError(f"panas_strategy is {self.panas_strategy!r}; expected one of {known}")
        if len(set(self.judges)) != len(self.judges):
            raise ValueError(f"a judge is named twice among {', '.join(self.judges)}")
        check_answer_format(self.answer_format)
        _ = self.decoding  # Checks what is sent.
        object.__setattr__(self, "_codebook_hash", _hash(self.codebook))

    @property
    def verbose(self) -> bool:
        """Whether the model is asked for its reasoning."""
        return self.mode in ("verbose", "verbose_omniscient")

    @property
    def omniscient(self) -> bool:
        """Whether the model is shown the participant's profile."""
        return self.mode in ("omniscient", "verbose_omniscient")

    @property
    def condition(self) -> str:
        """The mode."""
        return self.mode

    @property
    def decoding(self) -> dict[Role, Decoding]:
        """How responses are decoded, by the role of who is asked."""
        decoding = Decoding(self.temperature, self.seed, self.max_tokens, self.reasoning_effort, self.extra_body)
        if not self.judges:
            return {"model": decoding}
        return {"model": decoding, "judge": decoding if self.judges_alone else decoding.for_other_role(MAX_TOKENS)}

    def provenance(self) -> dict[str, Any]:
        """Return what a run file records of these settings, apart from the model.

        Returns
        -------
        dict
            ``mode``, ``seed``, ``temperature``, ``max_tokens``, ``answer_format``, ``prompt_version``,
            ``prompt_hash``, ``codebook_hash``; ``reasoning_effort`` and ``extra_body`` where set.
        """
        return {
            "mode": self.mode,
            "seed": self.seed,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "answer_format": self.answer_format,
            "prompt_version": self.prompts.version,
            "prompt_hash": self.prompts.hash,
            "codebook_hash": self._codebook_hash,
            **self.decoding["model"].where_set(),
        }


def _hash(codebook: Codebook) -> str:
    """Return the SHA-256 of every part of a codebook of which a request can show something."""
    shown = [
        [entry.model_dump(mode="json") for entry in entries.values()]
        for entries in (codebook.emotions, codebook.binary, codebook.pairwise, codebook.conversation_wide)
    ]
    return sha256(json.dumps(shown).encode()).hexdigest()
