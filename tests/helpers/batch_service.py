"""A batch service: it answers files of calls. As a program it takes the arguments of ``vllm run-batch``."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from model_server import Json, answer_to

__all__ = ["answer_calls", "batch_answer"]


def batch_answer(line: bytes, answer: Callable[[Json], str] = answer_to) -> Json:
    """Return the answer to a call as a service writes it."""
    request = json.loads(line)
    text = answer(request["body"])
    body = {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": len(text) // 4},
    }
    return {"custom_id": request["custom_id"], "response": {"status_code": 200, "body": body}, "error": None}


def answer_calls(calls: Path, answers: Path) -> None:
    """Write the answers to a file of calls."""
    lines = [json.dumps(batch_answer(line)) for line in calls.read_bytes().splitlines()]
    answers.write_text("\n".join(lines), encoding="utf-8")


def main() -> None:
    """Answer as a program."""
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["run-batch"])
    parser.add_argument("-i", type=Path, required=True)
    parser.add_argument("-o", type=Path, required=True)
    parser.add_argument("--model", required=True)
    given = parser.parse_args()
    answer_calls(given.i, given.o)


if __name__ == "__main__":
    main()
