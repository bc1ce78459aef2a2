"""What an episode depends on beside its scenario."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from attune_bench.runner.answers import AnswerFormat, check_answer_format
from attune_bench.runner.calls import Decoding, Role
from attune_bench.runner.prompts import Prompts, load_prompts
from attune_data import Scenario

__all__ = ["MAX_TOKENS", "TEMPERATURE", "EIBenchSettings", "Language", "bundled_prompts"]

# Those of EIBench's released evaluation.
MAX_TOKENS = 8192
TEMPERATURE = 0.7

Language = Literal["en", "zh"]

_CHINESE = re.compile("[\u3400-\u9fff]")


def bundled_prompts() -> Prompts:
    """Return the bundled wording of the instructions, which one's own has to match."""
    return load_prompts("attune_bench.benchmarks.eibench", "eibench-v2")


MAX_ROUNDS = 8
"""How often the person judges and answers at most, where nothing else is said."""


@dataclass(frozen=True, slots=True)
class EIBenchSettings:
    """Who talks with whom, and how.

    Parameters
    ----------
    model : str
        The evaluated model, as its provider names it.
    simulator : str
        The model that plays the person.
    max_rounds : int
        How often the person judges and answers at most.
    judge_all : bool
        Whether the person also judges the last reply of a charm episode, which has one more than there are rounds.
    language : {"en", "zh"}, optional
        Language of our instructions; by default Chinese for a scenario with Chinese characters, else English.
    seed : int, optional
        Sent with every call, for servers that take one; one more with each time that an answer is asked for again.
    temperature, simulator_temperature : float, optional
        Sent with the calls of each; None for the server's own.
    max_tokens : int, optional
        The most tokens of a response; None for the server's own limit, where the simulator keeps `MAX_TOKENS`.
    answer_format : {"schema", "free"}
        Whether the simulator's calls are sent with the schema of their answer; either way three times at most.
    prompts : Prompts
        The wording of our instructions.
    reasoning_effort, extra_body
        Sent with the calls of the model where set, see `attune_bench.runner.Decoding`.

    Raises
    ------
    ValueError
        An empty name, an unknown language or answer format, a number of rounds, a temperature or a number of tokens out
        of range, or further parameters that cannot be sent.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> EIBenchSettings("vendor/model", "vendor/person").language_of(load_scenarios("demo")[0])
    'en'
    """

    model: str
    simulator: str
    max_rounds: int = MAX_ROUNDS
    judge_all: bool = False
    language: Language | None = None
    seed: int | None = None
    temperature: float | None = TEMPERATURE
    simulator_temperature: float | None = TEMPERATURE
    max_tokens: int | None = MAX_TOKENS
    answer_format: AnswerFormat = "schema"
    prompts: Prompts = field(default_factory=bundled_prompts)
    reasoning_effort: str | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not (self.model and self.simulator):
            raise ValueError("the name of the model or of the simulator is empty")
        if self.max_rounds < 1:
            raise ValueError(f"max_rounds is {self.max_rounds}; expected a positive number")
        check_answer_format(self.answer_format)
        of_model = self._of_model  # Checks what is sent.
        try:
            replace(of_model, temperature=self.simulator_temperature)
        except ValueError as error:
            raise ValueError(f"simulator_{error}") from None
        if self.language not in (None, "en", "zh"):
            raise ValueError(f"language is {self.language!r}; expected 'en' or 'zh'")

    def language_of(self, scenario: Scenario) -> Language:
        """Return the language of the instructions for a scenario."""
        person = scenario.aggressor_profile
        texts = (person.system_prompt, person.opening_line or "", scenario.defender_profile.system_prompt)
        return self.language or ("zh" if any(map(_CHINESE.search, texts)) else "en")

    @property
    def _of_model(self) -> Decoding:
        return Decoding(self.temperature, self.seed, self.max_tokens, self.reasoning_effort, self.extra_body)

    @property
    def decoding(self) -> dict[Role, Decoding]:
        """How responses are decoded, by the role of who is asked."""
        of_simulator = replace(self._of_model.for_other_role(MAX_TOKENS), temperature=self.simulator_temperature)
        return {"model": self._of_model, "simulator": of_simulator}

    def provenance(self) -> dict[str, Any]:
        """Return all of it, the wording by version and hash, as JSON."""
        return {
            "model": self.model,
            "simulator": self.simulator,
            "max_rounds": self.max_rounds,
            "judge_all": self.judge_all,
            "language": self.language or "of the scenario",
            "seed": self.seed,
            "temperature": self.temperature,
            "simulator_temperature": self.simulator_temperature,
            "max_tokens": self.max_tokens,
            "answer_format": self.answer_format,
            "prompt_version": self.prompts.version,
            "prompt_hash": self.prompts.hash,
            **self._of_model.where_set(),
        }
