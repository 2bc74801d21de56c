"""Jiyi for LangGraph; needs the extra `langgraph`.

`JiyiStore` and `JiyiSaver` keep what a graph keeps in a service; the others hold dialogues with its memory (003).
"""

try:
    from memory.dialogue.graph import Branch, DialogueGraph, DialogueResult
except ImportError as error:
    raise ImportError("LangGraph is not installed: pip install 'jiyi[langgraph]'") from error
from memory.dialogue.service import AIService
from memory.dialogue.tools import DialogueTool, ToolUser, memory_tool

from .memory_system import MemorySystem
from .saver import JiyiSaver
from .store import JiyiStore

__all__ = [
    "AIService",
    "Branch",
    "DialogueGraph",
    "DialogueResult",
    "DialogueTool",
    "JiyiSaver",
    "JiyiStore",
    "MemorySystem",
    "ToolUser",
    "memory_tool",
]
