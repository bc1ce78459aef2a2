"""Running benchmarks: calls to models, resumable runs, and what a benchmark needs to be run."""

from attune_bench.runner.answers import TRIES, AnswerFormat, Found, Reading, call_to_make, find_object, read_answer
from attune_bench.runner.calls import (
    Call,
    CallFailedError,
    Complete,
    Decoding,
    FinishReason,
    IncompleteAnswerError,
    Message,
    Response,
    Role,
    message,
)
from attune_bench.runner.file_names import safe_name, unit_file_name
from attune_bench.runner.folder import ReplaceError, RunError
from attune_bench.runner.jobs import Job, RunOptions, RunOutcome, Skipped, Watch
from attune_bench.runner.meter import Meter
from attune_bench.runner.prices import Price, PriceError, read_prices
from attune_bench.runner.prompts import Fence, PromptError, Prompts, load_prompts, read_prompts
from attune_bench.runner.providers import Endpoint, ProviderError, endpoint
from attune_bench.runner.running import run, run_sync
from attune_bench.runner.task import ModelSettings, RunSettings, Source, Task, Unit, ask_planned

__all__ = [
    "TRIES",
    "AnswerFormat",
    "Call",
    "CallFailedError",
    "Complete",
    "Decoding",
    "Endpoint",
    "Fence",
    "FinishReason",
    "Found",
    "IncompleteAnswerError",
    "Job",
    "Message",
    "Meter",
    "ModelSettings",
    "Price",
    "PriceError",
    "PromptError",
    "Prompts",
    "ProviderError",
    "Reading",
    "ReplaceError",
    "Response",
    "Role",
    "RunError",
    "RunOptions",
    "RunOutcome",
    "RunSettings",
    "Skipped",
    "Source",
    "Task",
    "Unit",
    "Watch",
    "ask_planned",
    "call_to_make",
    "endpoint",
    "find_object",
    "load_prompts",
    "message",
    "read_answer",
    "read_prices",
    "read_prompts",
    "run",
    "run_sync",
    "safe_name",
    "unit_file_name",
]
