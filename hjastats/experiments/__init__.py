"""The paper's experiments, regenerated and extended: ``hjastats reproduce``."""

from .reproduce import EXPERIMENTS, Settings, reproduce

__all__ = ["EXPERIMENTS", "Settings", "reproduce"]
