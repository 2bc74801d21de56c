"""The FastAPI app: all routes over one set of services; knows neither Ray nor any store."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from fastapi_offline import FastAPIOffline

from .routes import (
    chat,
    embeddings,
    entities,
    governance,
    hooks,
    index,
    language,
    memories,
    operations,
    relations,
    sessions,
)
from .support.limits import BodyLimit
from .support.problems import install
from .support.services import Services

_DESCRIPTION = """\
Memory for chat agents in Chinese and English. Send each user message to `POST /chat`: references are resolved, memory
is searched, the reply quotes its sources, and what was said is learned. Every example on this page runs as it stands.
"""


def build_http(open_services: Callable[[], AbstractAsyncContextManager[Services]]) -> FastAPI:
    """The app; its services are opened when it starts and closed when it ends."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_services() as services:
            app.state.services = services
            yield

    app = FastAPIOffline(title="Jiyi", description=_DESCRIPTION, version=version("jiyi"), lifespan=lifespan)
    app.add_middleware(BodyLimit)
    install(app)
    for part in (
        chat,
        hooks,
        sessions,
        language,
        entities,
        relations,
        memories,
        governance,
        embeddings,
        index,
        operations,
    ):
        app.include_router(part.router)
    return app
