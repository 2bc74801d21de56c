"""The picture of `benchmarks.scaling`: three charts over one axis of time."""

from collections import defaultdict
from pathlib import Path

from benchmarks.load.samples import percentile
from benchmarks.scaling.timeline import Timeline


def draw(timeline: Timeline, out: Path) -> None:
    """Draws tokens waiting, replicas wanted and running, and the latency of chat, and writes a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (waiting, replicas, latency) = pyplot.subplots(3, 1, sharex=True, figsize=(9, 7.5), layout="constrained")
    at_s = [snapshot.time - timeline.began for snapshot in timeline.snapshots]
    waiting.plot(at_s, [snapshot.waiting_tokens for snapshot in timeline.snapshots], color="tab:orange")
    waiting.set_ylabel("tokens waiting\nin the Embedder")
    for name in timeline.snapshots[-1].replicas:
        is_embedder = name == "Embedder"
        seen = [snapshot.replicas.get(name) for snapshot in timeline.snapshots]
        replicas.step(
            at_s,
            [replica.target if replica else None for replica in seen],
            where="post",
            color="tab:orange" if is_embedder else "0.6",
            linewidth=2 if is_embedder else 1,
            label="Embedder, wanted" if is_embedder else None,
        )
        if is_embedder:
            running = [replica.running if replica else None for replica in seen]
            replicas.step(at_s, running, where="post", color="tab:orange", linestyle=":", label="Embedder, running")
    replicas.plot([], [], color="0.6", label="every other deployment, wanted")
    replicas.set_ylabel("replicas")
    replicas.legend(loc="upper right", fontsize="small")
    if timeline.chat is not None:
        _draw_latency(latency, timeline)
    latency.set_ylabel("/chat, ms")
    latency.set_xlabel("seconds")
    for axis in (waiting, replicas, latency):
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
        for phase in timeline.phases:
            axis.axvline(phase.begin_s, color="0.3", linewidth=0.8)
    for phase in timeline.phases:
        waiting.annotate(phase.name, (phase.begin_s, 1.02), xycoords=("data", "axes fraction"))
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=110)
    pyplot.close(figure)


def _draw_latency(axis: object, timeline: Timeline) -> None:
    assert timeline.chat is not None
    in_second: defaultdict[int, list[float]] = defaultdict(list)
    for sample in timeline.chat.samples:
        in_second[int(sample.due_s)].append(sample.latency_s * 1e3)
    seconds = sorted(in_second)
    p95 = [percentile(sorted(in_second[second]), 95) for second in seconds]
    axis.plot(seconds, p95, color="tab:blue", label="p95 of each second")  # type: ignore[attr-defined]
    failed = [sample for sample in timeline.chat.samples if not sample.is_ok]
    axis.plot(  # type: ignore[attr-defined]
        [sample.due_s for sample in failed], [sample.latency_s * 1e3 for sample in failed], "rx", label="failed"
    )
    axis.legend(loc="upper right", fontsize="small")  # type: ignore[attr-defined]
