"""The trace that a request belongs to (W3C Trace Context): from its headers into log lines and calls of deployments.

Nothing is recorded or exported here. A request is one span: what other deployments do for it is logged under the same
id. Where a tracer of OpenTelemetry records the request, as Ray Serve's own can, its span is used.
"""

import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from opentelemetry import context, trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, format_span_id, format_trace_id
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from structlog.typing import EventDict

TRACEPARENT = "traceparent"
TRACESTATE = "tracestate"
_KNOWN_FLAGS = 0x03
"""Sampled, and random trace id; others must be zero in what is passed on."""
_PROPAGATOR = TraceContextTextMapPropagator()
_ids = random.SystemRandom()


def span_for(traceparents: Sequence[str], tracestates: Sequence[str] = ()) -> SpanContext:
    """A new span for a request with these headers: in the caller's trace, or in a new one where they name none.

    Args:
        traceparents: All values of the header `traceparent`; only a single valid one counts.
        tracestates: All values of the header `tracestate`.
    """
    recorded = trace.get_current_span()
    if recorded.is_recording():
        return recorded.get_span_context()
    caller = _extract(traceparents, tracestates) if len(traceparents) == 1 else None
    if caller is None:
        return SpanContext(_new_id(128), _new_id(64), is_remote=False)
    flags = TraceFlags(caller.trace_flags & _KNOWN_FLAGS)
    return SpanContext(caller.trace_id, _new_id(64), is_remote=False, trace_flags=flags, trace_state=caller.trace_state)


@contextmanager
def in_span(span: SpanContext) -> Iterator[None]:
    """Makes a span the current one."""
    token = context.attach(trace.set_span_in_context(NonRecordingSpan(span)))
    try:
        yield
    finally:
        context.detach(token)


def current_span() -> SpanContext | None:
    """The span of the request that is being answered, in this process or by a call from another deployment."""
    span = trace.get_current_span().get_span_context()
    return span if span.is_valid else _span_of_call()


def headers_of(span: SpanContext) -> dict[str, str]:
    """The headers with which a call says that it belongs to a span."""
    headers: dict[str, str] = {}
    _PROPAGATOR.inject(headers, trace.set_span_in_context(NonRecordingSpan(span)))
    return headers


def add_trace(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Processor of structlog: `trace_id` and `span_id` of the current request."""
    span = current_span()
    if span is not None:
        event["trace_id"], event["span_id"] = format_trace_id(span.trace_id), format_span_id(span.span_id)
    return event


def _span_of_call() -> SpanContext | None:
    """The span that `Remote` sent with a call, as Serve keeps it for the replica's method."""
    serve = sys.modules.get("ray.serve.context")
    call = serve._serve_request_context.get() if serve else None  # a process without Serve is no replica
    carried = call._ray_trace_ctx if call else None
    return _extract([carried[TRACEPARENT]], [carried.get(TRACESTATE, "")]) if carried else None


def _extract(traceparents: Sequence[str], tracestates: Sequence[str]) -> SpanContext | None:
    carrier = {TRACEPARENT: list(traceparents), TRACESTATE: list(tracestates)}
    span = trace.get_current_span(_PROPAGATOR.extract(carrier, context.Context())).get_span_context()
    return span if span.is_valid else None


def _new_id(bits: int) -> int:
    return _ids.randrange(1, 1 << bits)
