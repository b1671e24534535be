"""HJA, JA, BTL and judge-wise BTL."""

from .family import BTLModel, HJAModel, JAModel, JudgewiseBTLModel

__all__ = ["BTLModel", "HJAModel", "JAModel", "JudgewiseBTLModel"]
