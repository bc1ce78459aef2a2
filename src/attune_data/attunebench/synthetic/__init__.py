"""Synthetic conversations and runs with known effects, to demonstrate and to test with."""

__all__: list[str] = []
