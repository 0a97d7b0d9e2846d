"""Sequence models, from recurrence to attention: the code behind the book."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("unrolled")
except PackageNotFoundError:
    raise ImportError(
        "unrolled is here but not installed, nor is what it needs: say 'pip install -e "
        "code' in the clone of the book; the page Set-up has a cell for Colab"
    ) from None
