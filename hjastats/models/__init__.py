"""HJA, JA, BTL and judge-wise BTL; and HJA of judges who are a sample."""

from .anchored import anchor
from .family import BTLModel, HJAModel, JAModel, JudgewiseBTLModel
from .population import PopulationHJAModel

__all__ = ["BTLModel", "HJAModel", "JAModel", "JudgewiseBTLModel", "PopulationHJAModel", "anchor"]
