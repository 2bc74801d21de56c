"""The FastAPI app: all routes over one set of services, without Ray or a store."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from fastapi_offline import FastAPIOffline

from ..config.access_settings import HttpArgs, LimitArgs
from .doors.mcp.route import add_mcp
from .doors.mem0.replies import MEM0, PREFIX
from .doors.mem0.router import router as mem0
from .doors.openai import embeddings, models, reranking, vector_stores
from .doors.openai.chat import completions
from .doors.openai.errors import OPENAI
from .doors.openai.registry import assistants_of
from .doors.openai.stateful import conversations, responses
from .identity.middleware import Authentication
from .routes.knowledge import bases as knowledge
from .routes.knowledge import graph
from .routes.memory import chat, entities, facts, governance, items, memories, personas, retention, sessions
from .routes.operations import erasures, index, keys, pipelines, portability, users
from .routes.operations import health as operations
from .support.access_log import AccessLog, TraceContext
from .support.bodies import BodyLimit
from .support.concurrency import ConcurrencyLimit, EarlyRefusal, Places
from .support.document import complete_document
from .support.failures import Door, DoorErrors, Failures, door_of
from .support.methods import Methods
from .support.origins import Origins
from .support.problems import COMMON, install_error_handlers, replies
from .support.services import Services

_LIMITS, _HTTP = LimitArgs(), HttpArgs()
DOORS: dict[str, Door] = {"/v1/": OPENAI}
"""By the beginning of their paths: those with errors of their own form, in our OpenAPI document."""
_DESCRIPTION = """\
Memory for chat agents in Chinese and English. Send each user message to `POST /chat`: references are resolved, memory
is searched, the reply quotes its sources, and the message is learned. Every example on this page runs as it is.
"""


def build_http(
    open_services: Callable[[], AbstractAsyncContextManager[Services]],
    *,
    limits: LimitArgs = _LIMITS,
    http: HttpArgs = _HTTP,
) -> FastAPI:
    """Builds the app; it opens its services when it starts and closes them when it stops."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_services() as services:
            app.state.services = services
            app.state.assistants = assistants_of(services)
            yield

    app = FastAPIOffline(title="Jiyi", description=_DESCRIPTION, version=version("jiyi"), lifespan=lifespan)
    # The last one added is the first that a request meets.
    places = Places(limits.concurrent_requests)
    app.add_middleware(ConcurrencyLimit, places=places)
    app.add_middleware(BodyLimit, limits=limits)
    app.add_middleware(Authentication)
    app.add_middleware(Methods, document=lambda: app.openapi())
    app.add_middleware(Origins, http=http)
    app.add_middleware(Failures)
    app.add_middleware(EarlyRefusal, places=places)
    app.add_middleware(DoorErrors, doors=DOORS | {f"{PREFIX}/": MEM0})
    app.add_middleware(AccessLog)
    app.add_middleware(TraceContext)
    install_error_handlers(app)
    modules = (
        chat,
        sessions,
        entities,
        memories,
        personas,
        facts,
        knowledge,
        graph,
        governance,
        retention,
        items,
        portability,
        users,
        erasures,
        completions,
        responses,
        conversations,
        models,
        reranking,
        vector_stores,
        embeddings,
        index,
        pipelines,
        keys,
        operations,
    )
    for module in modules:
        door = door_of(module.router.routes[0].path, DOORS)
        app.include_router(module.router, responses=(replies if door is None else door.replies)(*COMMON))
    app.include_router(mem0)
    add_mcp(app)
    complete_document(app, DOORS)
    return app
