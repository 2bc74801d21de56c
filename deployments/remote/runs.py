"""Runs of background work in the Learner, as a port."""

from typing_extensions import override

from memory.ports.jobs import PipelineRun, RunControl

from .handles import Remote


class RemoteRuns(RunControl):
    """The Learner deployment as a `RunControl`.

    Args:
        remote: The Learner.
        begin_s: Seconds until a retried run has begun.
    """

    def __init__(self, remote: Remote, *, begin_s: float = 60.0) -> None:
        self._remote = remote
        self._begin_s = begin_s

    @override
    async def retry(self, run_id: str, *, app: str | None) -> PipelineRun:
        run: PipelineRun = await self._remote.call("retry_run", run_id, app, deadline_s=self._begin_s)
        return run

    @override
    async def cancel(self, run_id: str, *, app: str | None) -> PipelineRun:
        run: PipelineRun = await self._remote.call("cancel_run", run_id, app)
        return run
