"""What a run depends on beside the conversation."""

import json
import math
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

from attune_bench.runner.prompts import Prompts, load_prompts
from attune_data import Codebook, load_codebook
from attune_data.record import Mode

__all__ = ["Settings", "Strategy"]

Strategy = Literal["absolute", "delta", "blind_delta"]


@dataclass(frozen=True, slots=True)
class Settings:
    """Who is asked what, and how.

    Parameters
    ----------
    model : str
        The evaluated model, as its provider names it; ``em_model`` of the run files.
    provider : str
        Who serves it.
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
    codebook : Codebook
        Where question texts and options come from: the bundled one, or the data set's own.
    prompts : Prompts
        The wording of the requests.

    Raises
    ------
    ValueError
        A mode or strategy that the codebook does not have, an empty name, a judge that is named twice, or a
        temperature that is none.

    Examples
    --------
    >>> settings = Settings("vendor/model", "openrouter", mode="verbose", judges=("vendor/judge",))
    >>> settings.verbose, settings.omniscient
    (True, False)
    """

    model: str
    provider: str
    mode: Mode = "default"
    judges: tuple[str, ...] = ()
    panas_strategy: Strategy = "absolute"
    seed: int | None = None
    temperature: float | None = 0.0
    codebook: Codebook = field(default_factory=load_codebook)
    prompts: Prompts = field(default_factory=lambda: load_prompts("attune_bench.benchmarks.attunebench", "v1"))
    # Kept, as every conversation asks for it.
    _codebook_hash: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not all((self.model, self.provider, *self.judges)):
            raise ValueError("the name of a model or of the provider is empty")
        if self.mode not in self.codebook.modes:
            raise ValueError(f"mode is {self.mode!r}; expected one of {', '.join(self.codebook.modes)}")
        if self.panas_strategy not in self.codebook.panas_strategies:
            known = ", ".join(self.codebook.panas_strategies)
            raise ValueError(f"panas_strategy is {self.panas_strategy!r}; expected one of {known}")
        if len(set(self.judges)) != len(self.judges):
            raise ValueError(f"a judge is named twice among {', '.join(self.judges)}")
        if self.temperature is not None and not 0 <= self.temperature < math.inf:
            raise ValueError(f"temperature is {self.temperature}; expected a number that is not negative")
        object.__setattr__(self, "_codebook_hash", _hash(self.codebook))

    @property
    def verbose(self) -> bool:
        """Whether the model is asked for its reasoning."""
        return self.mode in ("verbose", "verbose_omniscient")

    @property
    def omniscient(self) -> bool:
        """Whether the model is shown the participant's profile."""
        return self.mode in ("omniscient", "verbose_omniscient")

    def provenance(self) -> dict[str, Any]:
        """Return what a run file records of these settings beside model and mode.

        Returns
        -------
        dict
            ``provider``, ``seed``, ``temperature``, ``prompt_version``, ``prompt_hash``, ``codebook_hash``.
        """
        return {
            "provider": self.provider,
            "seed": self.seed,
            "temperature": self.temperature,
            "prompt_version": self.prompts.version,
            "prompt_hash": self.prompts.hash,
            "codebook_hash": self._codebook_hash,
        }


def _hash(codebook: Codebook) -> str:
    """Return the SHA-256 of everything in a codebook that a request can show."""
    shown = [
        [entry.model_dump(mode="json") for entry in entries.values()]
        for entries in (codebook.emotions, codebook.binary, codebook.pairwise, codebook.conversation_wide)
    ]
    return sha256(json.dumps([*shown, dict(codebook.branches)]).encode()).hexdigest()
