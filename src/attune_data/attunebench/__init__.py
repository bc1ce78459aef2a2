"""The records of AttuneBench: conversations that participants annotated, and runs of evaluated models."""
