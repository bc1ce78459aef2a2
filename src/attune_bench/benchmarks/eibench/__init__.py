"""EIBench: models in conversation with simulated people, scored by where it led."""

__all__: list[str] = []
