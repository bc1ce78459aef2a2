"""The version of the distribution, read by the build too.

Between releases it ends in ``.dev0``, so that no score of unreleased code is signed with the number of a release.
"""

__all__ = ["__version__"]

__version__ = "0.3.0"
