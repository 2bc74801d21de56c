"""The trained models of one deployment: their figures, their health, their end (DESIGN §5)."""

from collections.abc import Mapping, Sequence
from typing import Any

from models.batching.batched_model import BatchedModel

Model = BatchedModel[Any, Any, Any]


class RunningModels:
    """The models of one deployment: what its health says of them.

    Args:
        models: By name; None for one that does not run.
    """

    def __init__(self, models: Mapping[str, Model | None]) -> None:
        self._models = models

    def figures(self) -> dict[str, float | str]:
        """All figures of all models; `status` and `error` where the weights of one could not be read."""
        figures: dict[str, float | str] = {}
        errors = []
        for name, model in self._models.items():
            if model is None:
                figures[f"{name}_loaded"] = 0.0
                continue
            figures |= model.figures()
            if model.load_error:
                errors.append(model.load_error)
        return {"status": "degraded", "error": " ".join(errors), **figures} if errors else figures

    def check_health(self) -> None:
        """Raises `ModelUnavailable` where a model that was loaded is broken."""
        for model in self._running():
            model.check_health()

    async def close(self) -> None:
        """Finishes what is under way and stops."""
        for model in self._running():
            await model.close()

    def _running(self) -> Sequence[Model]:
        return [model for model in self._models.values() if model is not None]
