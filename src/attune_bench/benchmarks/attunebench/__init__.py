"""AttuneBench: predictions of what participants annotated in their conversations with a model."""

__all__: list[str] = []
