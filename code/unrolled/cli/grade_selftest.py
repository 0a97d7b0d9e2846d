"""``unrolled grade selftest``: does the sandbox hold on this machine?"""

import typer

from unrolled.grading.sandbox.breaches import NOT_PROMISED, attacks
from unrolled.grading.sandbox.house import Sandbox, SandboxError
from unrolled.grading.sandbox.rooms import TIERS

#: The exit code if something could not be graded: a fault of the machine.
UNGRADED = 3


def selftest() -> int:
    """Attack each tier from inside until one holds; return the exit code."""
    for tier, what in TIERS.items():
        if tier == "D":
            break
        typer.echo(f"Tier {tier} ({what})")
        try:
            with Sandbox(tier) as sandbox:
                got = attacks(sandbox)
        except SandboxError as error:
            typer.echo(f"  does not run here: {error}")
            continue
        spared = NOT_PROMISED.get(tier, set())
        for name, through in got.items():
            found = "stopped" if not through else "GETS THROUGH"
            if through and name in spared:
                found = "gets through, as this tier says"
            typer.echo(f"  {name.replace('_', ' '):18} {found}")
        if not any(through and name not in spared for name, through in got.items()):
            typer.echo(f"Tier {tier} holds: it will grade on this machine.")
            return 0
        typer.echo(f"Tier {tier} is not tight, so it is not used.")
    typer.echo(
        "No sandbox holds here. Grade on Linux with bubblewrap, or in a container as "
        "root;\n--i-trust-these-submissions would run answers with all your rights."
    )
    return UNGRADED
