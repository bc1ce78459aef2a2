"""``python -m attune_bench``: the command line, where ``attune-bench`` is not on the path."""

from attune_bench.cli import main

if __name__ == "__main__":
    main()
