"""What a user of Jiyi holds: the client and the command line."""

from .client import JiyiClient, JiyiRefused

__all__ = ["JiyiClient", "JiyiRefused"]
