"""The training loop: one generator that steps, one function that drains it.

There are no callbacks. Whoever wants to look inside a run writes the ``for`` loop
themselves: ``for step, loss in training_steps(...): ...``.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from unrolled.losses import n_counted
from unrolled.runtime import autocast, gains_from_compile, progress
from unrolled.training.budget import enough
from unrolled.training.config import TrainConfig as TrainConfig
from unrolled.training.distributed import (
    add_up,
    agreed,
    check_joined,
    check_same,
    leads,
    shares,
    start_alike,
)
from unrolled.training.optimizers import set_rates
from unrolled.training.resume import resume, save
from unrolled.training.run import Losses as Losses
from unrolled.training.run import Run


def training_steps(
    model: nn.Module,
    loss_fn: Callable[[Any, Any], Tensor],
    batches: Iterable[Any],
    config: TrainConfig,
    *,
    optimizers: list[Optimizer] | None = None,
    done: int = 0,
    count: Callable[[Any], int] = n_counted,
) -> Iterator[tuple[int, Tensor]]:
    """Take one step per batch and yield its number, from 1, and its loss.

    The loss is that of the weights *before* the step. It is a tensor on the model's
    device: reading it with ``.item()`` at every step would stall a GPU.

    A run that goes on has ``done`` steps and their ``optimizers`` behind it. ``count``
    says over how many targets ``loss_fn`` takes its mean, for batches that are read
    in pieces. A bar shows how far a run of more than two seconds has come.
    """
    check_joined()
    if done >= config.steps:
        return
    device = next(model.parameters()).device
    if optimizers is None:
        optimizers = config.build_optimizers(model)
    if not done:
        start_alike(model)
    compiled = config.compiled and gains_from_compile(device)
    reader: Any = torch.compile(model) if compiled else model
    for batch in progress(batches, total=config.steps - done, wanted=leads()):
        check_same(batch)
        done += 1
        model.train()
        model.zero_grad()
        loss = torch.zeros((), device=device)
        for piece, weight in shares(batch, config.accumulate, count):
            with autocast(device, wanted=config.mixed_precision):
                part = weight * loss_fn(reader, piece.to(device))
            part.backward()
            loss = loss + part.detach()
        loss = add_up(model, loss)
        nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
        set_rates(optimizers, config.schedule(done))
        for optimizer in optimizers:
            optimizer.step()
        yield done, loss
        if done == config.steps or enough(done):
            return
    raise ValueError(f"batches ran out after {done} of {config.steps} steps")


def fit(
    model: nn.Module,
    loss_fn: Callable[[Any, Any], Tensor],
    batches: Iterable[Any],
    config: TrainConfig,
    *,
    validate: Callable[[Any], float] | None = None,
    checkpoint: Path | None = None,
    count: Callable[[Any], int] = n_counted,
) -> Losses:
    """Take ``config.steps`` steps, or until patience ends; return the loss of each.

    ``validate(model)`` returns what should be small; it is asked every
    ``config.validate_every`` steps and after the last, in evaluation mode and without
    gradients. Its answers are ``validation`` of what is returned.

    ``checkpoint`` names a file that is written every ``config.checkpoint_every`` steps
    and after the last. If it is there already, the run goes on from it, bit for bit as
    if it had never stopped, given the same ``batches`` from their beginning. Only what
    ``loss_fn`` itself keeps between steps is not in it.
    """
    if config.patience is not None and validate is None:
        raise ValueError(f"patience={config.patience} needs validate=")
    check_joined()  # before a file is read
    run = Run(model, config, batches)
    if checkpoint is not None:
        resume(run, checkpoint)
    steps = training_steps(
        model,
        loss_fn,
        run.stream,
        config,
        optimizers=run.optimizers,
        done=run.done,
        count=count,
    )
    while not run.over and (taken := next(steps, None)):
        step, loss = taken
        run.note(loss)
        last = step == config.steps or enough(step)
        if validate is not None and (last or step % config.validate_every == 0):
            run.judge(agreed(_score(model, validate)))
        if checkpoint is not None and (
            last or run.over or step % config.checkpoint_every == 0
        ):
            save(run, checkpoint)
    return run.finish()


@torch.no_grad()
def _score(model: nn.Module, validate: Callable[[Any], float]) -> float:
    model.eval()
    score = float(validate(model))
    model.train()  # a run leaves the model so, whether its last step was judged or not
    return score
