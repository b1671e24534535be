"""What a fitted model knows and what can be asked of it."""

from .core import HJAResults, HJAResultsWrapper

__all__ = ["HJAResults", "HJAResultsWrapper"]
