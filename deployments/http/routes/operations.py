"""Health and metrics (DESIGN §9)."""

import asyncio
from collections.abc import Mapping
from importlib.metadata import version

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST

from memory.values.errors import Unavailable

from ..support.services import Probe, Services, ServicesDep

router = APIRouter(tags=["operations"])
_PROBE_S = 2.0

Figures = Mapping[str, float | str]


@router.get("/health/live")
async def live() -> dict[str, str]:
    """The process answers; no store is touched."""
    return {"status": "alive"}


@router.get("/health/ready")
async def ready(services: ServicesDep) -> JSONResponse:
    """200 where every part that a turn cannot do without answers, else 503 with the names of those that do not."""
    probes = {name: probe for name, probe in services.probes.items() if name in services.required}
    down = sorted(name for name, figures in (await _ask(probes)).items() if isinstance(figures, Unavailable))
    return JSONResponse({"status": "unavailable" if down else "ready", "down": down}, 503 if down else 200)


@router.get("/health/detailed")
async def detailed(services: ServicesDep) -> JSONResponse:
    """Every part with its figures; `degraded` where some part is down or stands in for another."""
    answers = await _ask(services.probes)
    parts = {
        name: {"status": "down", "error": figures.message}
        if isinstance(figures, Unavailable)
        else {"status": "ok", **figures}
        for name, figures in answers.items()
    }
    bad = sorted(name for name, part in parts.items() if part["status"] != "ok")
    body = {
        "status": "degraded" if bad else "ok",
        "not_ok": bad,
        "version": version("jiyi"),
        "model": await _live_model(services),
        "parts": parts,
    }
    return JSONResponse(body)


@router.get("/metrics")
async def metrics(services: ServicesDep) -> Response:
    """Prometheus text format; the names of 000 §9.2 with underscores."""
    answers = await _ask(services.probes)
    parts = {name: None if isinstance(figures, Unavailable) else figures for name, figures in answers.items()}
    return Response(services.metrics.render(parts), media_type=CONTENT_TYPE_LATEST)


async def _live_model(services: Services) -> str | None:
    """The name of the model that is searched with; None where the record cannot say it."""
    try:
        return (await services.embeddings.current()).model_ids[0]
    except Unavailable:
        return None


async def _ask(probes: Mapping[str, Probe]) -> dict[str, Figures | Unavailable]:
    """Asks all parts at once; one that does not answer in time counts as down."""
    return dict(zip(probes, await asyncio.gather(*map(_answer, probes.values())), strict=True))


async def _answer(probe: Probe) -> Figures | Unavailable:
    try:
        async with asyncio.timeout(_PROBE_S):
            return await probe()
    except TimeoutError:
        return Unavailable(f"no answer within {_PROBE_S:g} s")
    except Unavailable as error:
        return error
