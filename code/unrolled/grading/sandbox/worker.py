"""What runs within the walls: it loads an answer and does what the grader asks.

It knows nothing: no test, no expected value, no score. Once an answer is loaded all of
this may be overwritten by it, and nothing is lost: what comes out are values of the
answer's, whoever wrote them.
"""

import builtins
import gc
import linecache
import random
import sys
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unrolled.grading.forbid import arm, look
from unrolled.grading.sandbox import wire
from unrolled.grading.sandbox.packing import Reference, pack
from unrolled.grading.sandbox.proxy import OPEN, Remote
from unrolled.grading.sandbox.things import (
    gradients,
    leaves_of,
    of_implementation,
    set_attribute,
    told,
)


class Worker:
    """One answer's process, at the end of one line."""

    def __init__(self, line: wire.Carrier) -> None:
        self.line = line
        self.module = ModuleType("__main__")
        self.objects: list[object] = [self.module]
        self.shut = False  # whether an implementation is here that a test must not see
        self.graphs: dict[int, tuple[list[Tensor], list[Tensor]]] = {}

    def serve(self, until: int | None = None) -> wire.Message:
        """Do what is asked, until the reply to our own question number ``until``."""
        while True:
            text, raw = wire.read(self._receive)
            got = wire.message(text, raw, self._resolve)
            if "reply" in got.head:
                if got.head["reply"] == until:
                    return got
                continue
            for x in got.graphs:  # no leaf over there, and one here
                x.requires_grad_()
            try:
                value = self._do(got)
                packed = pack(value, self._refer)
                head = {"seq": got.head["seq"], "call": got.head["seq"]}
                if packed.outputs:
                    leaves = [x for x in leaves_of(got.value) if x.requires_grad]
                    self.graphs[got.head["seq"]] = (leaves, packed.outputs)
                reply = wire.frame(head, packed)
            except BaseException as error:  # SystemExit is no way out either
                head = {"seq": got.head["seq"], **told(error)}
                reply = wire.frame(head, pack(None, self._refer))
            self.line.sendall(reply)

    def ask(self, head: dict[str, Any], value: object) -> wire.Message:
        """Put a question to the grader: of its functions, or of another answer."""
        number = random.SystemRandom().getrandbits(48)
        packed = pack(value, self._refer_out)
        self.line.sendall(wire.frame({"question": number, **head}, packed))
        got = self.serve(until=number)
        if "error" in got.head:
            kind = getattr(builtins, str(got.head["error"]), RuntimeError)
            raise kind(str(got.head.get("text", "")))
        return got

    def _receive(self, n: int) -> bytes:
        parts, left = [], n
        while left:
            if not (part := self.line.recv(min(left, 1 << 20))):
                raise SystemExit(0)  # the grader has gone
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def _resolve(self, reference: Reference, head: dict[str, Any]) -> Any:
        if head.get("relayed"):
            return Remote(_Relay(self), reference.number)
        if reference.kind == "object":
            return self.objects[reference.number]
        return lambda *args, **kwargs: (
            self.ask(
                {"op": "function", "number": reference.number}, (args, kwargs)
            ).value
        )

    def _refer(self, thing: object) -> Reference:
        if self.shut and not of_implementation(thing):
            raise TypeError("this is no part of the implementation")
        self.objects.append(thing)
        return Reference("object", len(self.objects) - 1)

    def _refer_out(self, thing: object) -> Reference:
        if isinstance(thing, Remote):
            return Reference("object", object.__getattribute__(thing, "_number"))
        raise TypeError(f"a {type(thing).__name__} cannot be sent to it")

    def _do(self, got: wire.Message) -> object:
        head, value = got.head, got.value
        match head["op"]:
            case "begin":
                self.graphs.clear()
                del self.objects[1:]
                gc.collect(0)
                random.seed(value)
                np.random.seed(value)
                torch.default_generator.manual_seed(value)  # the CPU's, and quickly
                return None
            case "look":
                return look(*value)
            case "load":
                self._load(*value)
                return None
            case "implement":
                self._implement(*value)
                return None
            case "trial":
                name, seed = value
                S = Remote(_Relay(self), 0)
                getattr(self.module, name)(S, np.random.default_rng(seed))
                return None
            case "backward":
                leaves, outputs = self.graphs[head["call"]]
                return gradients(leaves, outputs, value)
        thing: Any = self.objects[head["number"]]
        match head["op"]:
            case "get":
                return getattr(thing, self._seen(value))
            case "set":
                name, new = value
                set_attribute(thing, self._seen(name), new)
                return None
            case "call":
                args, kwargs = value
                with torch.set_grad_enabled(head["grad"]):
                    return thing(*args, **kwargs)
            case "item":
                return thing[value]
            case "length":
                return len(thing)
            case "items":
                return list(thing)
        raise ValueError(f"no such question: {head['op']!r}")

    def _load(self, name: str, code: str, forbidden: list[str]) -> None:
        """Run some code in the answer's namespace; what is forbidden trips it."""
        sys.modules["__main__"] = self.module
        vars(self.module).setdefault("display", print)  # a notebook's own function
        linecache.cache[name] = (
            len(code),
            None,
            code.splitlines(True),
            name,
        )  # inspect
        arm(forbidden, self.module)
        exec(compile(code, name, "exec", dont_inherit=True), vars(self.module))

    def _implement(self, given: str, code: str) -> None:
        """Put up an implementation, for the test of a student's, in place of another.

        A test that could reach what lies behind it would not need to test: no modules
        (``S.torch.sys``), no code (``S.f.__code__``), nothing that outlives it here.
        """
        self.shut = False
        self.module = ModuleType("__main__")
        self.objects[:] = [self.module]
        self._load("<given>", given, [])
        self._load("<implementation>", code, [])
        self.shut = True

    def _seen(self, name: str) -> str:
        if self.shut and name.startswith("_") and name not in OPEN:
            raise AttributeError(f"{name} is no part of the implementation")
        return name


class _Relay:
    """The way to an implementation in another worker, which the grader passes on."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def ask(self, head: dict[str, Any], value: object) -> wire.Message:
        """Put a question to the other worker."""
        return self._worker.ask({"op": "relay", "inner": head}, value)
