"""A server that speaks the part of Qdrant's REST interface that the adapter uses, and can fail on request."""

from .server import Faults, QdrantStandIn

__all__ = ["Faults", "QdrantStandIn"]
