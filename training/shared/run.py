"""One training run on the e5 body: steps, checkpoints, the log."""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from models.assets.weight_files import FROZEN

from .averaging import MixedWeights
from .body import pool_dropouts
from .checkpoints import read_checkpoint
from .mix import ExampleT, Mix

_MOST_NORM = 1.0
_LOSS_ROWS = 64.0  # losses are sums over rows, divided by this: every row counts the same, however long its batch


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The hyperparameters of a training run.

    Attributes:
        epochs: Number of epochs; may be fractional.
        body_rate: Learning rate of the body.
        head_rate: Learning rate of the heads.
        warmup: Steps over which the rates rise.
        cooldown: Share of the epochs, at the end, over which they fall to a twentieth.
        decay: Decay of the running average of the weights.
        workers: Batches of one step, computed in parallel with one thread each. They wait for each other once per
            step, threads inside one matrix product much more often, which is slow on shared cores.
        checkpoint_s: Seconds between checkpoints.
        frozen_layers: Layers of the body, from the first, that get no gradient, nor what lies under them: only the
            decay of weights moves them. A step costs less by half of their share.
    """

    epochs: float = 4.0
    body_rate: float = 2e-4
    head_rate: float = 1e-3
    warmup: int = 60
    cooldown: float = 0.3
    decay: float = 0.995
    workers: int = 2
    checkpoint_s: float = 240.0
    frozen_layers: int = 0


NetworkT = TypeVar("NetworkT", bound=nn.Module)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Generic[NetworkT, ExampleT]):
    """The network, data and loss of a training run.

    Attributes:
        mix: The training data.
        collate: Turns a batch into tensors.
        loss: Losses of a batch by name, each summed over its rows; training minimises their sum.
        shape: Shape of the network; kept in the checkpoint.
    """

    mix: Mix[Any, ExampleT]
    collate: Callable[[Sequence[ExampleT]], Mapping[str, Tensor]]
    loss: Callable[[NetworkT, Mapping[str, Tensor]], Mapping[str, Tensor]]
    shape: Mapping[str, Any]


class TrainingRun(Generic[NetworkT, ExampleT]):
    """Trains a network.

    Args:
        network: A module with the body as `body`, which computes as `MixedWeights` says; word embeddings are not
            trained.
        task: The data and the loss.
        options: Hyperparameters.
        folder: Gets `checkpoint.pt` and `log.jsonl`.
        seed: Seed of dropout.
    """

    def __init__(
        self, network: NetworkT, task: Task[NetworkT, ExampleT], *, options: RunOptions, folder: Path, seed: int
    ) -> None:
        self.network = network
        self._task = task
        self._options = options
        self._folder = folder
        torch.manual_seed(seed)
        pool_dropouts(network)
        body = network.get_submodule("body")
        for name, parameter in body.named_parameters():
            parameter.requires_grad_(FROZEN not in name)
        self._device = next(network.parameters()).device
        if options.frozen_layers:
            body.get_submodule(f"encoder.layer.{options.frozen_layers - 1}").register_forward_hook(_detached)
        heads = [parameter for name, parameter in network.named_parameters() if not name.startswith("body.")]
        self.weights = MixedWeights(body, heads, decay=options.decay)
        self._optimizer = torch.optim.AdamW(
            [
                {"params": self.weights.body_masters, "lr": options.body_rate, "weight_decay": 0.01},
                {"params": self.weights.head_masters, "lr": options.head_rate, "weight_decay": 0.01},
            ],
            betas=(0.9, 0.98),
            fused=True,
        )
        self._rates = [group["lr"] for group in self._optimizer.param_groups]
        self.step = self.epoch = self._batches_done = 0
        self._epoch_size = len(task.mix.drawn(0))
        self._rows_done = 0
        self._pool = ThreadPoolExecutor(options.workers, "train")

    @property
    def progress(self) -> float:
        """The finished share of the run, 0 to 1."""
        return min(1.0, (self.epoch + self._rows_done / self._epoch_size) / self._options.epochs)

    def train_epoch(self) -> Iterator[dict[str, float]]:
        """Trains the rest of this epoch; yields per step the mean losses by name, `norm`, `rows` and `tokens`."""
        self.network.train()
        saved = time.monotonic()
        waiting: list[Sequence[ExampleT]] = []
        for batch in self._task.mix.batches(self.epoch, skip=self._batches_done):
            if self.progress >= 1.0:
                break
            waiting.append(batch)
            if len(waiting) < self._options.workers:
                continue
            yield self._step(waiting)
            waiting = []
            if time.monotonic() - saved > self._options.checkpoint_s:
                self.save()
                saved = time.monotonic()
        if waiting:
            yield self._step(waiting)
        self.epoch += 1
        self._batches_done = self._rows_done = 0
        self.save()

    def _step(self, batches: Sequence[Sequence[ExampleT]]) -> dict[str, float]:
        for group, rate in zip(self._optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * self._factor()
        results = list(self._pool.map(self._gradients, batches))
        norm = self.weights.set_gradients([gradients for gradients, _ in results], _MOST_NORM)
        self._optimizer.step()
        self.weights.updated()
        self.step += 1
        self._batches_done += len(batches)
        rows = sum(map(len, batches))
        self._rows_done += rows
        losses = {name: sum(losses[name] for _, losses in results) / rows for name in results[0][1]}
        tokens = sum(example.token_count for batch in batches for example in batch)
        return {**losses, "norm": norm, "rows": rows, "tokens": tokens}

    def _gradients(self, batch: Sequence[ExampleT]) -> tuple[Sequence[Tensor], dict[str, float]]:
        tensors = {name: tensor.to(self._device) for name, tensor in self._task.collate(batch).items()}
        losses = self._task.loss(self.network, tensors)
        loss = torch.stack(list(losses.values())).sum() / _LOSS_ROWS
        gradients = torch.autograd.grad(loss, self.weights.computing, allow_unused=True)
        filled = [
            torch.zeros_like(parameter) if gradient is None else gradient
            for gradient, parameter in zip(gradients, self.weights.computing, strict=True)
        ]
        return filled, {name: value.item() for name, value in losses.items()}

    def _factor(self) -> float:
        rise = min(1.0, (self.step + 1) / self._options.warmup)
        cooldown = self._options.cooldown
        remaining = (1.0 - self.progress) / cooldown if cooldown else 1.0
        return rise * max(0.05, min(1.0, remaining))

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Lets the network compute with the averaged weights inside the `with` block."""
        originals = [master.detach().clone() for master in self.weights.masters]
        self.weights.load(self.weights.average)
        try:
            yield
        finally:
            self.weights.load(originals)

    def save(self) -> None:
        """Writes the checkpoint; a reader sees the old one or the new one."""
        state = {
            "masters": [master.detach() for master in self.weights.masters],
            "average": self.weights.average,
            "average_steps": self.weights.steps,
            "optimizer": self._optimizer.state_dict(),
            "shape": dict(self._task.shape),
            "step": self.step,
            "epoch": self.epoch,
            "batches_done": self._batches_done,
            "rows_done": self._rows_done,
            "random": torch.get_rng_state(),
            "options": asdict(self._options),
        }
        fresh = self._folder / "checkpoint.new"
        torch.save(state, fresh)
        os.replace(fresh, self._folder / "checkpoint.pt")

    def resume(self, path: Path, *, weights_only: bool = False) -> None:
        """Continues from a checkpoint; with `weights_only` a new run starts from its averaged weights.

        Heads that the checkpoint does not have come last in the network, and start anew.
        """
        state = read_checkpoint(path)
        masters = state["average"] if weights_only else state["masters"]
        known = len(masters) if weights_only else None
        with torch.no_grad():
            for master, saved in zip(self.weights.masters[:known], masters, strict=True):
                master.data.copy_(saved)
            for average, saved in zip(self.weights.average[:known], state["average"], strict=True):
                average.copy_(saved)
        self.weights.load(self.weights.masters)
        if weights_only:
            return
        self.weights.steps = state["average_steps"]
        self._optimizer.load_state_dict(state["optimizer"])
        self.step, self.epoch = state["step"], state["epoch"]
        self._batches_done, self._rows_done = state["batches_done"], state["rows_done"]
        torch.set_rng_state(state["random"])

    def log(self, entry: dict[str, Any]) -> None:
        """Appends a line to the run's log."""
        with (self._folder / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")


def _detached(_module: nn.Module, _inputs: Any, output: Any) -> Any:
    """A layer's output, through which no gradient passes; transformers' layers give a tensor or a tuple with one."""
    return output.detach() if isinstance(output, Tensor) else (output[0].detach(), *output[1:])
