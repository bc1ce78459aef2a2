"""The version of the distribution, read by the build too.

Until the first release it is the number of that release, as in ``CHANGELOG.md``. After a release it ends in ``.dev0``
until the next, so that no score of code between two releases is signed with the number of a release.
"""

__all__ = ["__version__"]

__version__ = "0.3.0"
