"""The version of the distribution, read by the build too."""

__all__ = ["__version__"]

__version__ = "0.2.0"
