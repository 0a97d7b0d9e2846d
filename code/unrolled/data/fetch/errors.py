"""What goes wrong with archives; every message says what to run."""


class DataError(RuntimeError):
    """An archive cannot be had, or cannot be trusted; the message says what to do."""


class UnreachableError(DataError):
    """No index answers at all, so the next archive need not be tried."""
