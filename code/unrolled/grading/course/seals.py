"""What a notebook says of itself: from which source it is, and whether it was sealed.

All of it is the student's to change, so nothing here decides on a mark.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from unrolled.grading.course.records import Seal
from unrolled.grading.notebooks.sheets import KEY, exercise_of
from unrolled.grading.notebooks.submissions import answers_of, digest_of, submission_of


def edition_of(notebook: Mapping[str, Any]) -> Any:
    """Return which source a notebook was made from, as it says itself."""
    metadata = notebook.get("metadata")
    sheet = metadata.get(KEY) if isinstance(metadata, Mapping) else None
    return sheet.get("digest") if isinstance(sheet, Mapping) else None


def seal_of(
    notebook: Mapping[str, Any], answers: Mapping[str, str], *, other: bool
) -> Seal:
    """Return whether the answers are still those that ``submit`` saw.

    ``other`` says that the notebook is of another edition than ours.
    """
    seal = submission_of(notebook)
    if seal is None:
        return "unsealed"
    if other:  # its questions, and so its answers, may be others than ours
        try:
            answers = answers_of(notebook, exercise_of(notebook))
        except Exception:  # a sheet that ``submit`` could not have read either
            return "changed"
    return "sealed" if seal.get("digest") == digest_of(answers) else "changed"


def sealed_at(notebook: Mapping[str, Any]) -> str:
    """Return the time of a seal in the one form that ``submit`` writes, else ""."""
    seal = submission_of(notebook) or {}
    try:
        time = datetime.fromisoformat(seal.get("time", "")).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return ""
    return time.isoformat(timespec="seconds")
