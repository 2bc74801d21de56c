"""Dialogues on LangGraph with the memory of a Jiyi service (document 003); needs the extra `langgraph`."""

try:
    from memory.dialogue.graph import Branch, DialogueGraph, DialogueResult
except ImportError as error:
    raise ImportError("Dialogues need an extra: pip install 'jiyi[langgraph]'") from error
from memory.dialogue.service import AIService
from memory.dialogue.tools import DialogueTool, ToolUser, memory_tool

from .memory_system import MemorySystem

__all__ = [
    "AIService",
    "Branch",
    "DialogueGraph",
    "DialogueResult",
    "DialogueTool",
    "MemorySystem",
    "ToolUser",
    "memory_tool",
]
