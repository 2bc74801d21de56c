"""Health and metrics (DESIGN §9)."""

import asyncio
from collections.abc import Mapping
from importlib.metadata import version

from fastapi import APIRouter
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST

from memory.values.errors import Unavailable

from ....telemetry.metrics import render_metrics
from ....telemetry.replicas import Figures, add_up, ask, ask_all
from ...identity.operators import OPERATORS
from ...schemas.operations.health import Readiness
from ...support.services import Services, ServicesDep

router = APIRouter(tags=["operations"])
_REPORT_TIMEOUT_S = 3.0
"""Timeout for the reports of all ingress replicas, each of which waits two seconds for its stores."""


@router.get("/health")
@router.get("/health/live")
async def live() -> dict[str, str]:
    """200 while the process runs; checks no component."""
    return {"status": "alive"}


@router.get("/health/ready", responses={503: {"model": Readiness}})
async def ready(services: ServicesDep, response: Response) -> Readiness:
    """200 where all required stores and deployments answer, else 503 with the names of those that do not."""
    answers = await _ask_parts(services, only=services.required)
    down = sorted(name for name, figures in answers.items() if isinstance(figures, Unavailable))
    response.status_code = 503 if down else 200
    return Readiness(status="unavailable" if down else "ready", down=down)


@router.get("/health/detailed", dependencies=OPERATORS)
async def detailed(services: ServicesDep) -> JSONResponse:
    """All stores and deployments with their figures, summed over replicas.

    `degraded` where one of them is down or replaced by a fallback.
    """
    answers = await _ask_parts(services)
    parts = {
        name: {"status": "down", "error": figures.message}
        if isinstance(figures, Unavailable)
        else {"status": "ok", **figures}
        for name, figures in answers.items()
    }
    not_ok = sorted(name for name, part in parts.items() if part["status"] != "ok")
    body = {
        "status": "degraded" if not_ok else "ok",
        "not_ok": not_ok,
        "version": version("jiyi"),
        "model": await _live_model(services),
        "auth": services.authenticator.summary(),
        "parts": parts,
    }
    return JSONResponse(body)


@router.get("/metrics", response_class=PlainTextResponse, dependencies=OPERATORS)
async def metrics(services: ServicesDep) -> Response:
    """The metrics of all replicas in Prometheus text format; the names of 000 §9.2, with underscores."""
    ingress = await ask(services.ingress, within_s=_REPORT_TIMEOUT_S)
    parts = await ask_all(services.parts)
    text = render_metrics(
        [await services.report()] if isinstance(ingress, Unavailable) else ingress,
        {name: () if isinstance(reports, Unavailable) else reports for name, reports in parts.items()},
    )
    return Response(text, media_type=CONTENT_TYPE_LATEST)


async def _live_model(services: Services) -> str | None:
    """The name of the live embedding model; None where the record is down."""
    try:
        return (await services.embeddings.current()).model_ids[0]
    except Unavailable:
        return None


async def _ask_parts(services: Services, *, only: frozenset[str] | None = None) -> Mapping[str, Figures | Unavailable]:
    """The figures of all stores and deployments, or of those in `only`, by name."""
    answers, reports = await asyncio.gather(
        ask_all({name: probe for name, probe in services.probes.items() if only is None or name in only}),
        ask_all({name: probe for name, probe in services.parts.items() if only is None or name in only}),
    )
    return answers | {
        name: answer if isinstance(answer, Unavailable) else add_up(answer) for name, answer in reports.items()
    }
