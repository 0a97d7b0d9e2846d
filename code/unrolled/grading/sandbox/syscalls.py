"""A filter of system calls: what no exercise needs, refused by the kernel. Linux only.

It takes what limits cannot count. A worker that can start no process cannot fork a
bomb, leave a daemon behind, or hold its memory many times over; without sockets it has
no network even where there is no namespace for it; shared memory, keys and rings would
escape the limit of memory, and tracing and mounting the walls; and priorities can be
set for all that a user runs, other workers included.
"""

import ctypes
import errno
import os
import platform
import struct
from functools import cache
from typing import Any

_REFUSED = {  # name: its number on x86_64 and on aarch64; None where there is none
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221),
    "execveat": (322, 281), "socket": (41, 198), "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194),
    "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "bpf": (321, 280), "perf_event_open": (298, 241), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "userfaultfd": (323, 282), "unshare": (272, 97), "setns": (308, 268),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429),
    "fsopen": (430, 430), "fsmount": (432, 432), "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264),
    "fanotify_init": (300, 262), "pidfd_getfd": (438, 438), "kcmp": (312, 272),
    "init_module": (175, 105), "finit_module": (313, 273), "personality": (135, 92),
    "kill": (62, 129), "tkill": (200, 130), "pidfd_send_signal": (424, 424),
    "setpriority": (141, 140), "ioprio_set": (251, 30),
}  # fmt: skip
_MACHINES = {"x86_64": (0, 0xC000003E, 56), "aarch64": (1, 0xC00000B7, 220)}
_CLONE3, _THREAD = 435, 0x10000  # the flag of a thread, as against a process
_LOAD, _EQUAL, _AT_LEAST, _ANY_OF, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_NO_NEW_PRIVILEGES, _SET_FILTER = 38, 22


def known_machine() -> bool:
    """Return whether the filter knows the numbers of this machine's system calls."""
    return platform.system() == "Linux" and platform.machine() in _MACHINES


def _program() -> bytes:
    """Return the filter as the kernel's little machine wants it, 8 bytes a step."""
    column, architecture, clone = _MACHINES[platform.machine()]
    numbers = sorted(n for row in _REFUSED.values() if (n := row[column]) is not None)
    refuse = _REFUSE | errno.EPERM
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),  # another set of numbers would go around the list
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, 0x40000000),  # x32: yet another set of numbers
        (_RETURN, 0, 0, _KILL),
        (_EQUAL, 0, 1, _CLONE3),  # its flags cannot be seen: the C library falls back
        (_RETURN, 0, 0, _REFUSE | errno.ENOSYS),
        (_EQUAL, 0, 4, clone),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_ANY_OF, 1, 0, _THREAD),
        (_RETURN, 0, 0, refuse),
        (_RETURN, 0, 0, _ALLOW),
    ]
    for number in numbers:
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, refuse)]
    steps.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *step) for step in steps)


@cache
def prepare_filter() -> tuple[Any, Any]:
    """Return the filter where the kernel will read it, its head and its steps.

    It is the same for all: what forks workers prepares it once, for each of them.
    """
    steps = ctypes.create_string_buffer(program := _program(), len(program))
    head = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(steps))
    return ctypes.c_char_p(head), steps


def refuse_calls() -> None:
    """Put the filter on this process and all it may become; there is no way back."""
    if not known_machine():
        raise OSError(f"no filter of system calls for {platform.machine()}")
    head, _ = prepare_filter()
    control = ctypes.CDLL(None, use_errno=True).prctl
    long = ctypes.c_ulong
    if control(_NO_NEW_PRIVILEGES, long(1), long(0), long(0), long(0)):
        raise OSError(ctypes.get_errno(), "no_new_privs was refused")
    if control(_SET_FILTER, long(2), head, long(0), long(0)):
        code_ = ctypes.get_errno()
        raise OSError(code_, f"the filter was refused: {os.strerror(code_)}")
