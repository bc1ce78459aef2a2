"""The metrics of AttuneBench, a task a module."""

__all__: list[str] = []
