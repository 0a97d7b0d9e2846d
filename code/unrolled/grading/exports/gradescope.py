"""An exercise as an autograder of Gradescope's: a zip to upload there.

It holds the source of the exercise and the course's secret, so it is for instructors
only. Gradescope runs ``setup.sh`` once, when it builds its image, and for each
submission ``run_autograder`` (:mod:`unrolled.grading.exports.harness`). Untested on
Gradescope itself: tested in a plain directory laid out as its own.
"""

import os
from pathlib import Path

from unrolled.grading.authoring.source import read_exercise
from unrolled.grading.course.secrets import private_tests
from unrolled.grading.exports.package import (
    GRADING,
    constraints,
    package_files,
    requirements,
    zipped,
)

_SETUP = """\
#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image (Ubuntu 22.04 has Python
# 3.11). Untested on Gradescope itself.
set -euo pipefail
cd "$(dirname "$0")"
chmod -R go-rwx exercise  # nobody but root reads the tests and the secret

export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq bubblewrap util-linux >/dev/null
apt-get install -y -qq python3.11 python3.11-venv >/dev/null ||
  apt-get install -y -qq python3 python3-venv >/dev/null
python=$(command -v python3.11 || command -v python3)
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  { echo "Python 3.11 or later is needed: choose another base image"; exit 1; }

"$python" -m venv /opt/unrolled
pip="/opt/unrolled/bin/python -m pip --disable-pip-version-check --quiet"
# torch first and pinned: a later step would find a larger one
$pip install -c constraints.txt "$(grep '^torch==' requirements.txt)"
$pip install -c constraints.txt -r requirements.txt
$pip install --no-deps ./code
"""
_RUN = """\
#!/usr/bin/env bash
# Gradescope runs this for each submission. A mark, or a failure that it shows: never a
# zero for a fault of the machine.
set -euo pipefail
root=${UNROLLED_AUTOGRADER:-/autograder}
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
exec "${UNROLLED_PYTHON:-/opt/unrolled/bin/python}" \\
  -m unrolled.grading.exports.harness "$root" "$@"
"""


def export_gradescope(
    source: Path, target: Path, *, secret: str, private: Path | None = None
) -> Path:
    """Write the autograder of the exercise in ``source`` to a zip, for its owner only.

    Args:
        source: The exercise.
        target: The zip; one that is there is replaced.
        secret: The course's secret.
        private: A folder with tests of this course only.

    Raises:
        ExerciseError: The source, or a private test, is malformed.
        ValueError: The target is no name for a zip.
    """
    if target.suffix != ".zip":
        raise ValueError(f"{target} is no name for a zip: {source.stem}.zip is")
    exercise = read_exercise(source)
    files = {
        "setup.sh": _SETUP.encode(),
        "run_autograder": _RUN.encode(),
        "requirements.txt": requirements(GRADING).encode(),
        "constraints.txt": constraints().encode(),
        f"exercise/{exercise.name}.md": source.read_bytes(),
        "exercise/secret": secret.encode(),
        **package_files(),
    }
    if private is not None:
        private_tests(private, exercise)  # better to complain now than over there
        own = (private / f"{exercise.name}.md").read_bytes()
        files[f"exercise/private/{exercise.name}.md"] = own
    content = zipped(files, programs=("setup.sh", "run_autograder"))
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.{os.getpid()}.writing")
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return target
