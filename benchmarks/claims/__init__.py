"""Simulated claims, by topic; importing this package enters all of them."""

from importlib import import_module
from pkgutil import iter_modules

from .registry import CLAIMS, run

for _module in iter_modules(__path__):
    if not _module.name.startswith("__"):
        import_module(f"{__name__}.{_module.name}")

__all__ = ["CLAIMS", "run"]
