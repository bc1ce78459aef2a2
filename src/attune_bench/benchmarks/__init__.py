"""The benchmarks, a folder each: what is asked, how answers are read, how they are scored."""

__all__: list[str] = []
