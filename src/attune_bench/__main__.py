"""``python -m attune_bench``: the command line, where ``attune-bench`` is not on the path."""

from attune_bench.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
