"""A child process that knows the source ``tiny`` of a test: its archive as JSON."""

import json
import os

from unrolled.data.fetch.pins import Archive
from unrolled.data.fetch.sources import SOURCES, Source


def install() -> Archive:
    """Put the archive that TINY describes into the table."""
    archive = Archive(**json.loads(os.environ["TINY"]))
    SOURCES["tiny"] = Source(
        name="tiny", archives=(archive,), licence="CC0", citation="nobody"
    )
    return archive
