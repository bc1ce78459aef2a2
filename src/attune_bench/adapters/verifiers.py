"""Benchmarks that are played, as environments of verifiers: each role is an agent with one interaction an episode.

The program of an agent is otherwise started anew for each turn and keeps one conversation. `TurnHarness` sends a turn
from this process, and lets a turn begin a conversation of its own, as the calls of a simulated person do.
"""

# ruff: noqa: E402 - a missing extra is named before its modules are imported

from typing import Any

from attune_data.references import require

require("verifiers.v1", "verifiers")

import openai  # type: ignore[import-not-found]  # it comes with the extra
import verifiers.v1 as vf  # type: ignore[import-not-found]  # it is an extra
from verifiers.v1.dialects.chat import message_to_wire  # type: ignore[import-not-found]
from verifiers.v1.runtimes import ProgramResult  # type: ignore[import-not-found]

from attune_bench.runner.calls import Call, CallFailedError, Complete, IncompleteAnswerError, Message, Role


class TurnHarness(vf.Harness[vf.HarnessConfig]):  # type: ignore[misc]  # The base class is of an extra.
    """Sends each turn to the agent's model, without tools.

    A turn that begins with a system message is a conversation of its own; any other goes on with the last one.
    """

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self, ctx: Any, _trace: Any, _runtime: Any, endpoint: str, secret: str, _mcp_urls: object, data: Any
    ) -> Any:
        """Send the messages of a prompt."""
        thread = [message_to_wire(message) for message in data.prompt]
        # How long a turn may take is a limit of the agent.
        async with openai.AsyncOpenAI(base_url=endpoint, api_key=secret, timeout=None) as client:
            try:
                await client.chat.completions.create(model=ctx.model, messages=thread)
            except openai.APIError as error:
                return ProgramResult(1, "", str(error))
        return ProgramResult(0, "", "")

    async def resume(self, *given: Any) -> Any:
        """Send a turn."""
        *where, data, messages, _ = given
        if messages[0].role == "system":
            return await self.launch(*(*where, data.model_copy(update={"prompt": messages})))
        return await super().resume(*given)


def complete_by(interactions: dict[Role, Any]) -> Complete:
    """Return what makes the calls of a task by interactions, one for each role that is asked.

    Where a call goes on with the conversation of its role's last one, only what is new is sent: the model's own words
    stay as it said them, token for token.

    Parameters
    ----------
    interactions : dict of str to Interaction
        By role; the harness of each is `TurnHarness`.

    Returns
    -------
    callable
        Raises `CallFailedError` where there is no answer, or the model's was cut off: asked for again, its first half
        would stay in the trace that is trained on. Of another role that is an `IncompleteAnswerError`.
    """
    last: dict[Role, tuple[Message, ...]] = {}

    async def complete(call: Call, _attempt: int) -> str:
        interaction, before = interactions[call.role], last.get(call.role, ())
        goes_on = 0 < len(before) < len(call.messages) and call.messages[: len(before)] == before
        # Behind what was said before is the answer.
        new = call.messages[len(before) + 1 :] if goes_on else call.messages
        last[call.role] = call.messages
        segment = await interaction.turn([dict(message) for message in new])
        if segment.terminated:
            error = interaction.trace.last_error
            why = f"{error.type}: {error.message}" if error else interaction.trace.stop_condition
            raise CallFailedError(f"{call.id}: no answer of the {call.role}: {why}")
        if interaction.trace.calls[-1].finish_reason == "length":
            error_of = CallFailedError if call.role == "model" else IncompleteAnswerError
            raise error_of(f"{call.id}: the answer of the {call.role} was cut off")
        return segment.messages[-1].content or ""

    return complete
