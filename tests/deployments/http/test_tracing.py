"""W3C Trace Context over HTTP: the caller's trace goes on, in log lines and in the reply; anything else begins one."""

import json
import logging
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from deployments.telemetry.logs import configure_logs
from deployments.telemetry.tracing import current_span, headers_of, in_span, span_for

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
GIVEN = f"00-{TRACE}-{CALLER}-01"
INVALID = [
    "",
    "nonsense",
    TRACE,
    GIVEN.upper(),
    f"00-{TRACE}-{CALLER}",
    f"00-{TRACE}-{CALLER}-01-more",
    f"ff-{TRACE}-{CALLER}-01",
    f"00-{'0' * 32}-{CALLER}-01",
    f"00-{TRACE}-{'0' * 16}-01",
    f"00-{TRACE}0-{CALLER}-01",
    f"00-{TRACE[:-1]}g-{CALLER}-01",
    f"00-{TRACE}-{CALLER}-01" + " " * 600,
    f"{GIVEN},{GIVEN}",
]
_HEX = "0123456789abcdef"
_trace_ids = st.text(_HEX, min_size=32, max_size=32).filter(lambda value: set(value) != {"0"})
_span_ids = st.text(_HEX, min_size=16, max_size=16).filter(lambda value: set(value) != {"0"})


def parts(reply: httpx.Response) -> list[str]:
    return reply.headers["traceparent"].split("-")


async def test_the_trace_of_the_caller_goes_on_with_a_span_of_its_own(http: httpx.AsyncClient) -> None:
    replies = [await http.get(path, headers={"traceparent": GIVEN}) for path in ("/health/live", "/nothing", "/chat")]
    for reply in replies:
        version, trace, span, flags = parts(reply)
        assert (version, trace, flags) == ("00", TRACE, "01")
        assert span != CALLER
    assert len({parts(reply)[2] for reply in replies}) == 3


@pytest.mark.parametrize("given", INVALID)
async def test_what_is_not_valid_is_replaced_by_a_new_trace(http: httpx.AsyncClient, given: str) -> None:
    headers = {"traceparent": given, "tracestate": "vendor=1"}
    first, second = [parts(await http.get("/health/live", headers=headers)) for _ in range(2)]
    assert first[1] != second[1]
    for _, trace, span, flags in (first, second):
        assert TRACE not in (trace, "0" * 32)
        assert span not in (CALLER, "0" * 16)
        assert flags == "00"


async def test_two_values_are_none(http: httpx.AsyncClient) -> None:
    reply = await http.get("/health/live", headers=[("traceparent", GIVEN), ("traceparent", GIVEN)])
    assert parts(reply)[1] != TRACE


async def test_every_log_line_of_a_request_has_its_ids(
    http: httpx.AsyncClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration = structlog.get_config()
    logger = logging.getLogger("deployments")
    before = (logger.handlers, logger.level, logger.propagate)
    file = configure_logs(tmp_path, "ingress", "debug")

    def noisy(*_: Any, **__: Any) -> str:
        structlog.get_logger("deployments.structured").info("inside")
        logging.getLogger("deployments.standard").warning("inside, too")
        return "0.1.0"

    monkeypatch.setattr("deployments.http.routes.operations.health.version", noisy)
    reply = await http.get("/health/detailed", headers={"traceparent": GIVEN})
    structlog.get_logger("deployments.structured").info("outside")
    logger.handlers[0].close()
    logger.handlers, logger.level, logger.propagate = before
    structlog.configure(**configuration)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    inside = [line for line in lines if line["event"].startswith("inside")]
    assert len(inside) == 2
    for line in inside:
        assert (line["trace_id"], line["span_id"]) == tuple(parts(reply)[1:3])
    assert "trace_id" not in next(line for line in lines if line["event"] == "outside")


@given(_trace_ids, _span_ids, st.integers(0, 255), st.text("abc123=,-@ ", max_size=40))
def test_a_valid_header_is_understood_whatever_stands_beside_it(
    trace: str, caller: str, flags: int, state: str
) -> None:
    span = span_for([f"00-{trace}-{caller}-{flags:02x}"], [state])
    headers = headers_of(span)
    version, trace_out, span_out, flags_out = headers["traceparent"].split("-")
    assert (version, trace_out, int(flags_out, 16)) == ("00", trace, flags & 0x03)
    assert span_out != caller
    assert len(span_out) == 16


@given(st.text(max_size=80))
def test_anything_else_begins_a_trace(text: str) -> None:
    span = span_for([text], [text])
    assert span.is_valid
    assert not span.trace_state


@given(_trace_ids, _span_ids, st.lists(st.sampled_from(["a=1", "b@c=2", "d=x y"]), unique=True))
def test_the_state_goes_on_as_it_came(trace: str, caller: str, members: list[str]) -> None:
    state = headers_of(span_for([f"00-{trace}-{caller}-01"], [",".join(members)])).get("tracestate", "")
    assert state.split(",") == (members or [""])


def test_a_span_is_current_only_inside() -> None:
    span = span_for([GIVEN])
    assert current_span() is None
    with in_span(span):
        assert current_span() == span
    assert current_span() is None
