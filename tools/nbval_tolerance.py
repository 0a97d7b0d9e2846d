"""A pytest plugin: nbval runs a cell, and this compares all that it gave.

``pytest --nbval-lax -p nbval_tolerance chapters/04-recurrent-networks.ipynb``. nbval
itself compares letter by letter, and only what is marked; numbers need a tolerance that
depends on what they are (:mod:`compare_outputs`).
"""

import copy
from collections.abc import Generator
from typing import Any

import pytest
from nbval.plugin import IPyNbCell, NbCellError

from compare_outputs import cell_faults
from unrolled.runtime import fingerprint


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail a cell that ran, if it gave something else than its notebook stores."""
    cell = copy.deepcopy(
        getattr(item, "cell", None)
    )  # nbval joins its outputs in place
    result = yield
    if isinstance(item, IPyNbCell):
        stored = item.parent.nb.metadata.get("unrolled", {})
        same = stored.get("fingerprint") == fingerprint()
        if faults := cell_faults(cell, item.test_outputs, same=same):
            where = "on this kind of machine" if same else "on another machine"
            raise NbCellError(
                item.cell_num,
                f"not as stored, {where}:\n  " + "\n  ".join(faults),
                item.cell.source,
            )
    return result
