"""How records and issues are shown in notebooks."""

__all__: list[str] = []
