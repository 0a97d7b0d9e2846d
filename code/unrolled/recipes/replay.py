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
    "untrained": 1e-4,  # measures of what was only read or counted; counts are exact
    "replayed": 0.015,  # after two updates: a tied answer may turn, not one of 64
    "trained": 0.02,  # after all updates, of a whole unit
}
SMALL = 0.01  # what was not trained is compared as if it were at least so large


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
        off = 0 if same else ELSEWHERE["updates"]
        found += differences(one["updates"], other["updates"], off, f"/{i}/updates")
        at, parts = f"/{i}/outcome", (one["outcome"], other["outcome"])
        if same:
            found += differences(*parts, 0, at)
        elif not other["updates"]:
            off = ELSEWHERE["untrained"]
            found += differences(*parts, off, at, least=SMALL, counts=True)
        else:
            found += differences(*parts, ELSEWHERE["replayed"], at)
            found += _other_counts(*parts, _whole(record, other["unit"]), at)
    return list(dict.fromkeys(found))


def _whole(record: dict[str, Any], unit: dict[str, Any]) -> dict[str, Any]:
    """Return what the unit of ``record`` with these settings gave when it was run."""
    units: list[dict[str, Any]] = record.get("units", [])
    return next((one for one in units if unit.items() <= one.items()), {})


def _other_counts(
    new: Any, old: Any, whole: dict[str, Any], at: str = ""
) -> Iterator[str]:
    """Yield where counts differ that training has no part in.

    They are those that were the same after two updates as after all of them: how many
    words there are, how many weights.
    """
    ours, theirs, known = (dict(_counts(part)) for part in (new, old, whole))
    for place, count in theirs.items():
        if count == known.get(place) and count != ours.get(place, count):
            yield f"{at}{place} is {ours[place]}, was {count}"


def _counts(value: Any, at: str = "") -> Iterator[tuple[str, int]]:
    """Yield the place of each whole number in a value of JSON, and the number."""
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in inner:
            yield from _counts(part, f"{at}/{key}")
    elif isinstance(value, int) and not isinstance(value, bool):
        yield at, value


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
    return not any(differences(mine, shared, ELSEWHERE["trained"]))


def differences(
    new: Any,
    old: Any,
    tolerance: float,
    at: str = "",
    *,
    least: float = 1.0,
    counts: bool = False,
) -> Iterator[str]:
    """Yield a line for each place where two values of JSON differ.

    Numbers agree if they are ``tolerance`` times the larger of them apart, or times
    ``least``. With ``counts`` two whole numbers agree only if they are the same.
    """
    how: dict[str, Any] = {"least": least, "counts": counts}
    if isinstance(new, dict) and isinstance(old, dict):
        for key in old.keys() - new.keys():
            yield f"{at}/{key} is missing"
        for key in new.keys() - old.keys():
            yield f"{at}/{key} is new"
        for key in sorted(old.keys() & new.keys()):
            yield from differences(new[key], old[key], tolerance, f"{at}/{key}", **how)
    elif isinstance(new, list) and isinstance(old, list):
        if len(new) != len(old):
            yield f"{at} has {len(new)} entries, was {len(old)}"
        for i, (one, other) in enumerate(zip(new, old, strict=False)):
            yield from differences(one, other, tolerance, f"{at}/{i}", **how)
    elif isinstance(new, int | float) and isinstance(old, int | float):
        exact = counts and isinstance(new, int) and isinstance(old, int)
        off = 0 if exact else tolerance * max(least, abs(new), abs(old))
        if not (new == old or abs(new - old) <= off):
            yield f"{at} is {new}, was {old}"
    elif new != old:
        yield f"{at} is {new!r}, was {old!r}"
