"""What the conformance package wants a server to have besides its own: tools, resources and prompts of fixed names."""

import asyncio
from base64 import b64decode
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import Message, UserMessage
from mcp_types import (
    AudioContent,
    Completion,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
)

_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
_Context = Context[Any, Any]
_OURS = "A fixture of the conformance package."


def _image() -> ImageContent:
    return ImageContent(type="image", data=_PNG, mime_type="image/png")


def _embedded(uri: str, text: str) -> EmbeddedResource:
    resource = TextResourceContents(uri=uri, mime_type="text/plain", text=text)
    return EmbeddedResource(type="resource", resource=resource)


def add_fixtures(server: MCPServer) -> None:
    """Adds all of them to a server."""
    _add_tools(server)
    _add_resources(server)
    _add_prompts(server)


def _add_tools(server: MCPServer) -> None:
    @server.tool(description=_OURS)
    async def test_simple_text() -> str:
        return "This is a simple text response for testing."

    @server.tool(description=_OURS, structured_output=False)
    async def test_image_content() -> ImageContent:
        return _image()

    @server.tool(description=_OURS, structured_output=False)
    async def test_audio_content() -> AudioContent:
        return AudioContent(type="audio", data=_WAV, mime_type="audio/wav")

    @server.tool(description=_OURS, structured_output=False)
    async def test_embedded_resource() -> EmbeddedResource:
        return _embedded("test://embedded-resource", "This is an embedded resource content.")

    @server.tool(description=_OURS, structured_output=False)
    async def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
        text = TextContent(type="text", text="Multiple content types test:")
        return [text, _image(), _embedded("test://mixed-content-resource", '{"test":"data","value":123}')]

    @server.tool(description=_OURS)
    async def test_error_handling() -> str:
        raise ToolError("This tool intentionally returns an error for testing")

    @server.tool(description=_OURS)
    async def test_tool_with_progress(context: _Context) -> str:
        for done in (0, 50, 100):
            await context.report_progress(done, 100, f"Completed step {done} of 100")
            await asyncio.sleep(0)
        return "done"


def _add_resources(server: MCPServer) -> None:
    @server.resource("test://static-text", mime_type="text/plain")
    async def static_text() -> str:
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    async def static_binary() -> bytes:
        return b64decode(_PNG)

    @server.resource("test://template/{id}/data", mime_type="application/json")
    async def template(id: str) -> str:  # noqa: A002 - the name is the suite's
        return f'{{"id": "{id}", "templateTest": true, "data": "Data for ID: {id}"}}'


def _add_prompts(server: MCPServer) -> None:
    @server.prompt(description=_OURS)
    async def test_simple_prompt() -> str:
        return "This is a simple prompt for testing."

    @server.prompt(description=_OURS)
    async def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt(description=_OURS)
    async def test_prompt_with_embedded_resource(resourceUri: str) -> list[Message]:  # noqa: N803 - the name is the suite's
        embedded = _embedded(resourceUri, "Embedded resource content for testing.")
        return [UserMessage(content=embedded), UserMessage(content="Please process the embedded resource above.")]

    @server.prompt(description=_OURS)
    async def test_prompt_with_image() -> list[Message]:
        return [UserMessage(content=_image()), UserMessage(content="Please analyze the image above.")]

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
    async def complete(ref: Any, argument: Any, context: Any) -> Completion:
        return Completion(values=[], total=0, has_more=False)
