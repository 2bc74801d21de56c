"""Jiyi as LangGraph's store and checkpoint saver; needs the extra `jiyi[langgraph]`.

`JiyiStore` and `JiyiSaver` keep what a graph keeps in a running service, for one user.
"""

try:
    from .saver import JiyiSaver
    from .store import JiyiStore
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("langgraph", "langchain_core"):
        raise
    raise ModuleNotFoundError("LangGraph is not installed: pip install 'jiyi[langgraph]'", name=error.name) from error

__all__ = ["JiyiSaver", "JiyiStore"]
