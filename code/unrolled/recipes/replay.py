"""Replay a recipe: two updates of each kind of unit, compared with what is on record.

A whole recipe takes minutes to hours, so nobody would run it to see whether a change
elsewhere in the package has changed its results. A replay takes seconds. It runs the
first unit of each kind (units that differ in numbers only, such as the seed, are of one
kind) with training cut short after two updates, and keeps all that it returns, and of
each update how long the gradient was, before it was clipped and after, and how long
the weights are. That is what the
data, the model, the loss, the optimizer and the measures have made of it: a change of
any of them changes the replay.

A recipe may define ``replay_unit(unit, folder)``, where its measures take too long, and
``REPLAYED``, a list of units, where the first of each kind are too many.
"""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook

from unrolled.recipes.discovery import Recipe, load_recipe
from unrolled.recipes.results import results
from unrolled.runtime import fingerprint, one_thread
from unrolled.training.budget import at_most

UPDATES = 2
# How far numbers may be apart on a machine that rounds otherwise, as a part of them.
ELSEWHERE = {
    "updates": 1e-4,  # the length of gradient and weights
    "outcome": 0.02,  # measures: where two answers are all but tied, one may turn
}


def as_json(value: Any) -> Any:
    """Return ``value`` as it comes back from a file: tuples are lists, for one."""
    return json.loads(json.dumps(value))


def kinds(recipe: Recipe) -> list[dict[str, Any]]:
    """Return the units that are replayed: the first of each kind."""
    chosen: list[dict[str, Any]] | None = getattr(recipe, "REPLAYED", None)
    if chosen is not None:
        return chosen
    first: dict[tuple[Any, ...], dict[str, Any]] = {}
    for unit in recipe.UNITS:
        words = (v for v in unit.values() if isinstance(v, str | bool))
        first.setdefault(tuple(words), unit)
    return list(first.values())


def run_replay(recipe: Recipe) -> dict[str, Any]:
    """Run the first two updates of each kind of unit; return all that came out."""
    run_unit = getattr(recipe, "replay_unit", recipe.run_unit)
    units = []
    with tempfile.TemporaryDirectory() as folder, one_thread(), at_most(UPDATES):
        for unit in kinds(recipe):
            with _noted_updates() as updates:
                outcome = run_unit(unit, Path(folder))
            units.append({"unit": unit, "outcome": outcome, "updates": updates})
    return {"fingerprint": fingerprint(), "units": as_json(units)}


@contextmanager
def _noted_updates() -> Iterator[list[dict[str, float]]]:
    """Note the length of gradient and weights at every update of any optimizer.

    Where a gradient is clipped, its length before that is noted too: of a loss ten
    times as large nothing else would be seen.
    """
    noted: list[dict[str, float]] = []
    unclipped: list[float] = []
    clip = torch.nn.utils.clip_grad_norm_

    def clip_and_note(*args: Any, **settings: Any) -> Tensor:
        length = clip(*args, **settings)
        unclipped.append(length.item())
        return length

    def note(optimizer: Optimizer, *_: Any) -> None:
        groups = optimizer.param_groups
        moved = [p for g in groups for p in g["params"] if p.grad is not None]
        gradient = torch.nn.utils.get_total_norm([p.grad for p in moved])
        weights = torch.nn.utils.get_total_norm([p.detach() for p in moved])
        lengths = {"gradient": gradient.item(), "weights": weights.item()}
        before = {"before clipping": unclipped.pop()} if unclipped else {}
        noted.append(lengths | before)

    hook = register_optimizer_step_post_hook(note)
    torch.nn.utils.clip_grad_norm_ = clip_and_note
    try:
        yield noted
    finally:
        torch.nn.utils.clip_grad_norm_ = clip
        hook.remove()


def replay_faults(recipe: Recipe, record: dict[str, Any]) -> list[str]:
    """Replay ``recipe``; return where it differs from the replay on ``record``."""
    if "replay" not in record:
        return ["no replay is on record"]
    new, old = run_replay(recipe), record["replay"]
    same = new["fingerprint"] == old["fingerprint"]
    asked, were = ([unit["unit"] for unit in run["units"]] for run in (new, old))
    found = list(differences(asked, were, 0, "/units"))
    for i, (one, other) in enumerate(zip(new["units"], old["units"], strict=False)):
        for part, tolerance in ELSEWHERE.items():
            at, off = f"/{i}/{part}", 0 if same else tolerance
            found += differences(one[part], other[part], off, at)
    return found


def replay(name: str) -> int:
    """Replay the recipe ``name``; return how many updates were made as on record.

    If anything comes out otherwise, the run fails and says what.
    """
    record = results(name)
    if faults := replay_faults(load_recipe(name), record):
        shown = "\n  ".join(faults[:10])
        raise AssertionError(f"{name} does not come out as on record:\n  {shown}")
    return sum(len(unit["updates"]) for unit in record["replay"]["units"])


def agrees(name: str, outcome: dict[str, Any], **unit: Any) -> bool:
    """Say whether ``outcome``, a slice run again, agrees with the recipe ``name``.

    ``unit`` chooses the unit on record by its settings. What both have is compared.
    """
    known = [
        one
        for one in results(name)["units"]
        if all(one.get(key) == value for key, value in as_json(unit).items())
    ]
    if len(known) != 1:
        raise ValueError(f"{name} has {len(known)} units with {unit}: name one")
    shared = {key: known[0][key] for key in outcome if key in known[0]}
    if not shared:
        raise ValueError(
            f"nothing to compare: {name} records {', '.join(known[0])}, not "
            f"{', '.join(outcome)}"
        )
    mine = as_json({key: outcome[key] for key in shared})
    return not any(differences(mine, shared, ELSEWHERE["outcome"]))


def differences(new: Any, old: Any, tolerance: float, at: str = "") -> Iterator[str]:
    """Yield a line for each place where two values of JSON differ.

    Numbers agree if they are ``tolerance`` times the larger of them apart, or of 1.
    """
    if isinstance(new, dict) and isinstance(old, dict):
        for key in old.keys() - new.keys():
            yield f"{at}/{key} is missing"
        for key in new.keys() - old.keys():
            yield f"{at}/{key} is new"
        for key in sorted(old.keys() & new.keys()):
            yield from differences(new[key], old[key], tolerance, f"{at}/{key}")
    elif isinstance(new, list) and isinstance(old, list):
        if len(new) != len(old):
            yield f"{at} has {len(new)} entries, was {len(old)}"
        for i, (one, other) in enumerate(zip(new, old, strict=False)):
            yield from differences(one, other, tolerance, f"{at}/{i}")
    elif isinstance(new, int | float) and isinstance(old, int | float):
        size = max(1.0, abs(new), abs(old))
        if not (new == old or abs(new - old) <= tolerance * size):
            yield f"{at} is {new}, was {old}"
    elif new != old:
        yield f"{at} is {new!r}, was {old!r}"
