"""How to train: every setting of a run. What to train is the model's own config."""

from dataclasses import dataclass, field

from torch import nn
from torch.optim import Optimizer

from unrolled.shapes import at_least
from unrolled.training.optimizers import AdamW, MuonAdamW
from unrolled.training.schedules import Constant, Schedule


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainConfig:
    """How to train.

    Attributes:
        steps: How many updates to make, one per batch.
        lr: The learning rate of AdamW, before its schedule.
        clip_norm: A longer gradient is scaled down to this length.
        weight_decay: By which part of itself, times the rate, a matrix shrinks a step.
        optimizer: Which weights are trained how: AdamW for all, or Muon for some.
        schedule: Which factor the rates have at each step.
        accumulate: In how many pieces a batch is read, one after another, where it
            does not fit into memory at once; the update is the same.
        mixed_precision: Compute in bfloat16 where the device gains from that.
        compiled: Compile the model where the device gains from that.
        validate_every: How many steps pass between two validations.
        patience: Stop after so many validations without a new best one, and go back
            to the best weights; without it, never.
        checkpoint_every: How many steps pass between two checkpoints.
    """

    steps: int
    lr: float = 3e-4
    clip_norm: float = 1.0
    weight_decay: float = 0.0
    optimizer: AdamW | MuonAdamW = field(default_factory=AdamW)
    schedule: Schedule = field(default_factory=Constant)
    accumulate: int = 1
    mixed_precision: bool = False
    compiled: bool = False
    validate_every: int = 100
    patience: int | None = None
    checkpoint_every: int = 100

    def __post_init__(self) -> None:
        at_least(1, steps=self.steps, accumulate=self.accumulate)
        at_least(1, validate_every=self.validate_every)
        at_least(1, checkpoint_every=self.checkpoint_every)
        if self.patience is not None:
            at_least(1, patience=self.patience)
        for name in ("lr", "clip_norm"):
            if not getattr(self, name) > 0:  # nan is not, either
                raise ValueError(f"{name}={getattr(self, name)} must be positive")
        if not self.weight_decay >= 0:
            raise ValueError(f"weight_decay={self.weight_decay} must not be negative")

    def build_optimizers(self, model: nn.Module) -> list[Optimizer]:
        """Return the optimizers that train ``model``."""
        return self.optimizer.build(model, lr=self.lr, weight_decay=self.weight_decay)
