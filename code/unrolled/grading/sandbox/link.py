"""The grader's end of the line to one worker: questions, and the worker's own."""

import builtins
import json
import random
from collections.abc import Callable
from typing import Any

from unrolled.grading.forbid import ForbiddenName
from unrolled.grading.sandbox import wire
from unrolled.grading.sandbox.limits import Limits
from unrolled.grading.sandbox.packing import Packed, Reference, WireError, pack
from unrolled.grading.sandbox.process import Line, Lost, WorkerLost
from unrolled.grading.sandbox.proxy import Remote, Thing

_RELAYED = {"get", "set", "call", "item", "length", "items", "backward"}
_FIELDS = ("op", "number", "grad", "call")  # of a question that is passed on


class Link:
    """Questions and answers over the line to one worker.

    Args:
        line: The worker's line.
        limits: What it may use.
        sweep: What tidies up after it, where its files do not go away with it.
    """

    def __init__(
        self, line: Line, limits: Limits, sweep: Callable[[], None] | None = None
    ) -> None:
        self._line, self.limits, self._sweep = line, limits, sweep
        self._seq = self._calls = 0
        self._functions: list[Callable[..., Any]] = []
        self.other: Link | None = None  # where an implementation under test runs

    @property
    def lost(self) -> Lost | None:
        """Return why the worker was given up, if it was."""
        return self._line.lost

    def begin(self, seed: int) -> None:
        """Start the clock of a test, and the worker's generators, anew."""
        self._line.restart()
        self._calls = 0
        self._functions.clear()
        self._seq = random.SystemRandom().getrandbits(48)  # else it counts our tests
        self.ask({"op": "begin"}, seed)

    def close(self) -> None:
        """End the worker, and return when nothing of it is left."""
        self._line.close()
        if self._sweep:
            self._sweep()
            self._sweep = None
        self._line.lost = self._line.lost or "died"

    def ask(self, head: dict[str, Any], value: object) -> wire.Message:
        """Put a question to the worker; what goes wrong there is raised here."""
        got = self._exchange(head, pack(value, self._refer))
        reply = self._read(*got)
        if "error" in reply.head:
            raise _raised(reply.head)
        return reply

    def _exchange(self, head: dict[str, Any], packed: Packed) -> tuple[bytes, bytes]:
        """Send a question; answer the worker's own until its reply is here."""
        if self.lost:
            raise WorkerLost(self.lost)
        self._line.resume()
        self._seq += 1
        seq = self._seq
        self._line.send(wire.frame({**head, "seq": seq}, packed))
        while True:
            text, raw = self._frame()
            said = self._head(text)
            if "question" in said:
                answer = self._answer(said, text, raw)
                self._line.resume()
                self._line.send(answer)
            elif said.get("seq") == seq:
                return text, raw
            else:
                self._line.lose("error")

    def _frame(self) -> tuple[bytes, bytes]:
        try:
            return wire.read(self._line.receive)
        except WireError:
            self._line.lose("error")

    def _head(self, text: bytes) -> dict[str, Any]:
        try:
            said = json.loads(text)
        except (ValueError, RecursionError):
            self._line.lose("error")
        if not isinstance(said, dict):
            self._line.lose("error")
        return said

    def _read(self, text: bytes, raw: bytes) -> wire.Message:
        try:
            return wire.message(text, raw, self._resolve)
        except WireError:
            self._line.lose("error")

    def _answer(self, said: dict[str, Any], text: bytes, raw: bytes) -> bytes:
        """Return the reply to a question of the worker's."""
        self._calls += 1
        if self._calls > self.limits.callbacks:
            self._line.lose("timeout")
        reply: dict[str, Any] = {"reply": said["question"]}
        try:
            if said.get("op") == "relay":
                return self._relayed(reply, said, raw)
            got = self._read(text, raw)
            args, kwargs = got.value
            value = self._functions[got.head["number"]](*args, **kwargs)
            return wire.frame(reply, pack(value, self._refer))
        except Exception as error:  # the test's function did not like the values
            reply |= {"error": type(error).__name__, "text": ""}
            return wire.frame(reply, Packed(["v", None]))

    def _relayed(
        self, reply: dict[str, Any], said: dict[str, Any], raw: bytes
    ) -> bytes:
        """Return what another worker replies: neither side's values are looked at."""
        inner = {key: said["inner"][key] for key in _FIELDS if key in said["inner"]}
        if self.other is None or inner["op"] not in _RELAYED:
            raise ValueError("no such question")
        asked = Packed(said["value"], [raw], len(raw))
        try:
            text, tensors = self.other._exchange(inner, asked)
        except WorkerLost as lost:
            if lost.status == "ungraded":
                raise
            raise RuntimeError from lost
        back = self._head(text)
        # not the text: it quotes the line that failed, and so the implementation
        kept = {key: back[key] for key in ("call", "error") if key in back}
        head = reply | kept | {"relayed": True}
        return wire.frame(head, Packed(back.get("value"), [tensors], len(tensors)))

    def _refer(self, thing: object) -> Reference:
        if isinstance(thing, Remote):
            return Reference("object", object.__getattribute__(thing, "_number"))
        if callable(thing):
            self._functions.append(thing)
            return Reference("function", len(self._functions) - 1)
        raise WireError(f"a {type(thing).__name__} cannot be given to an answer")

    def _resolve(self, reference: Reference, head: dict[str, Any]) -> Thing:
        if reference.kind != "object":
            raise WireError("an answer has no functions of ours")
        return Thing(self, reference.number)


def _raised(head: dict[str, Any]) -> Exception:
    """Return an exception of the answer's as one of Python's own, with its text."""
    name, text = str(head["error"]), str(head.get("text", ""))[:300]
    if name == "ForbiddenName":
        return ForbiddenName(text)
    kind = getattr(builtins, name, None)
    if kind in (StopIteration, StopAsyncIteration):  # either would end a test's loop
        kind = None
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            return kind(text)
        except TypeError:  # some want more than a text
            pass
    return RuntimeError(text)
