"""SAGE: published conversations with simulated people, scored by their final emotion."""

__all__: list[str] = []
