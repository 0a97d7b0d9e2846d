"""How much an answer may use, and how long. CPU seconds decide; the rest are nets."""

from dataclasses import asdict, dataclass

from unrolled.shapes import at_least


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What one worker may use.

    Args:
        cpu: CPU seconds for one test, all its calls together, and for loading.
        idle: Seconds for which a worker may sit and wait for nothing. A worker that
            is short of a CPU does not wait, so a busy machine changes no mark.
        wall: The backstop. A worker that was neither idle nor at the end of its CPU
            seconds was starved: that is the machine's fault, and nobody's zero.
        memory: Bytes of address space beyond what the preloaded process has.
        disk: Bytes of its own file system, which goes away with it.
        files: Files open at once.
        threads: Threads, of one process: a worker starts no others.
        callbacks: Calls of a test's function by the answer, in one test.
    """

    cpu: float = 5.0
    idle: float = 10.0
    wall: float = 150.0
    memory: int = 1 << 30
    disk: int = 16 << 20
    files: int = 64
    threads: int = 32
    callbacks: int = 10_000

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value <= 0:
                raise ValueError(f"{name}={value} must be positive")
        if self.wall < 3 * self.cpu:
            raise ValueError(
                f"wall={self.wall} must be several times cpu={self.cpu}: a busy "
                "machine must not change a mark"
            )
        at_least(16, files=self.files)
