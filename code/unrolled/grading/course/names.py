r"""Names of students: from what files are called, and back to names of files.

A name is any text that a student or a learning system chose. It is kept as it is but
for what would harm a terminal or a table: such characters are written as in ``\x1b``,
and a backslash as ``\x5c``, so that no two names become one. Anna and anna are two.
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

_SUFFIX = re.compile(r"\.(ipynb|zip)\Z", re.IGNORECASE)
# Anna Li_123_assignsubmission_file_… (Moodle); lianna_LATE_12_345_… (Canvas)
_MOODLE = re.compile(r"(.+?)_(\d+)_assignsubmission_(?:file|onlinetext)_.*", re.S)
_CANVAS = re.compile(r"([^_]+)_(?:LATE_)?(\d+)_\d+_.+", re.DOTALL)
_BIDI = {*range(0x202A, 0x202F), *range(0x2066, 0x206A)}  # they turn a line around
_RESERVED = {"con", "prn", "aux", "nul"}  # to Windows these are devices
_LONGEST = 80


def cleaned(text: str) -> str:
    """Return a text of others' that may be shown anywhere, and differs if they do."""
    return "".join(map(_shown, unicodedata.normalize("NFC", text)))


def _shown(one: str) -> str:
    kind = unicodedata.category(one)
    if one == "\\" or kind in ("Cc", "Cs", "Zl", "Zp") or ord(one) in _BIDI:
        return f"\\x{ord(one):02x}"
    return one


def student_of(name: str, exercise: str) -> str:
    """Return whose a file or folder is, as it is called; "" if it does not say.

    What is added by ``submit`` (the exercise's name) and by Moodle and Canvas is taken
    off; their number of the student is kept, since two may have the same name.
    """
    if named := system_name(name):
        return named
    stem = _SUFFIX.sub("", name).removesuffix(".submission")
    whole = re.escape(exercise)
    stem = re.sub(rf"(\A|[\s._-]+){whole}(-\d+)?\Z", "", stem)
    stem = re.sub(rf"\A{whole}([\s._-]+|\Z)", "", stem)
    return cleaned(stem).strip()


def system_name(name: str) -> str:
    """Return whose a file or folder is by Moodle or Canvas; "" if neither named it."""
    stem = _SUFFIX.sub("", name)
    match = _MOODLE.fullmatch(f"{stem}_") or _CANVAS.fullmatch(stem)
    return cleaned(f"{match[1]} ({match[2]})") if match else ""


def short_hash(text: str) -> str:
    """Return a few characters that differ where texts do."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:10]


def slug(student: str) -> str:
    """Return a name as every file system can bear it; others may have the same."""
    plain = "".join(c if c.isalnum() or c in "-_. " else "-" for c in student)
    plain = re.sub(r"\s+", " ", plain).strip(" .-")
    while len(plain.encode()) > _LONGEST:
        plain = plain[:-1]
    return plain.strip(" .-") or "student"


def unique_name(student: str) -> str:
    """Return a name for a student's file that is theirs whoever else there is."""
    return f"{slug(student)}-{short_hash(student)}"


def file_names(students: Iterable[str]) -> dict[str, str]:
    """Return a name for each student's file: their own, where it is safe and alone.

    It depends on who is in the class, and not on the order of students.
    """
    every = list(students)
    taken = Counter(slug(student).casefold() for student in every)
    return {
        student: student
        if slug(student) == student
        and taken[student.casefold()] == 1
        and student.casefold().partition(".")[0] not in _RESERVED
        else unique_name(student)
        for student in every
    }
