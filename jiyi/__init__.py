"""The client and the command line of Jiyi."""

from .client import JiyiClient, JiyiRefused

__all__ = ["JiyiClient", "JiyiRefused"]
