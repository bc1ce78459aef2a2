"""The requests of an episode: what the model sees, and what the simulator sees.

The model sees its own profile, what the person said, and its own earlier outputs as they were, reflections included.
The simulator sees the person's profile, the state before the update, its own earlier replies and reflections, and what
the model said aloud. Neither sees anchors, goal, criteria or the profile of the other.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from attune_bench.benchmarks.eibench.settings import EIBenchSettings
from attune_bench.runner.calls import Call, message
from attune_bench.runner.prompts import Fence
from attune_bench.runner.schemas import TEXT, YES_NO, integer_schema, object_schema
from attune_data import Scenario
from attune_data.eibench.records import scenes

__all__ = ["EpisodeCalls", "Line"]

_CHANGE = integer_schema(-10, 10)
_REACTION = object_schema(
    {
        "reflection": TEXT,
        "anger_delta": _CHANGE,
        "trust_delta": _CHANGE,
        "reply": TEXT,
        "continue": YES_NO,
        "stop_reason": TEXT,
    }
)


@dataclass(frozen=True, slots=True)
class Line:
    """One message.

    Attributes
    ----------
    by_model : bool
        Whether the model said it, rather than the person.
    raw : str
        The whole output of the model, with its thinking; of the person the words.
    said : str
        The words said aloud.
    reflection : str
        What the person thought before, which the model does not see.
    """

    by_model: bool
    raw: str
    said: str
    reflection: str = ""


class EpisodeCalls:
    """Builds the calls of one episode."""

    def __init__(self, scenario: Scenario, settings: EIBenchSettings) -> None:
        self._scenario = scenario
        self._settings = settings
        self.language = settings.language_of(scenario)

    def model(self, history: Sequence[Line]) -> Call:
        """Return the call for the model's next reply."""
        number = 1 + sum(line.by_model for line in history)
        profile = self._scenario.defender_profile.system_prompt
        messages = [message("system", f"{profile}\n\n{self._render('model')}")]
        if not history or history[0].by_model:
            messages.append(message("user", self._render("opener")))  # Many servers want a user's message first.
        messages += [message("assistant" if line.by_model else "user", line.raw) for line in history]
        return Call(f"reply-{number}", self._settings.model, "model", tuple(messages), schema_name="reply")

    def simulator(self, history: Sequence[Line], number: int, anger: int, trust: int) -> Call:
        """Return the call in which the person judges the model's last reply, in the round of a number, and answers."""
        person, most = self._scenario.aggressor_profile.system_prompt, self._settings.max_rounds
        texts = [text for line in history for text in (line.said, line.reflection)]
        fence = Fence.around(self._scenario.id, [person, *texts])
        # The reply that `judge_all` adds is judged as one of the last round.
        progress = f"{min(number, most)}/{most}"
        state = {"scene": self._scenario.scene, "anger": anger, "trust": trust, "round": progress}
        system = self._render(
            "simulator",
            profile=person.strip(),
            state=json.dumps(state),
            scene=self._render(self._scenario.scene),
            late=str(most // 2 + 1),
            last=str(most),
            boundary=fence.code,
        )
        names = {True: self._render("other"), False: self._render("own")}
        blocks = [fence.block(names[line.by_model], _with_reflection(line)) for line in history]
        latest = fence.block(names[True], history[-1].said)
        turn = self._render("turn", dialogue="\n\n".join(blocks), latest=latest)
        messages = (message("system", system), message("user", turn))
        return Call(f"round-{number}", self._settings.simulator, "simulator", messages, _REACTION, "reaction")

    def opens(self) -> bool:
        """Tell whether the model speaks first."""
        return scenes()[self._scenario.scene].opens == "model"

    def _render(self, name: str, **values: str) -> str:
        return self._settings.prompts.render(f"{self.language}/{name}", **values)


def _with_reflection(line: Line) -> str:
    return f"<think>{line.reflection}</think>\n{line.said}" if line.reflection else line.said
