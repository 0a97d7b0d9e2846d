"""Hostile answers to q1 of the border exercise, each with the points it deserves.

All but a few compute nothing right, so q1 is worth 0 to them. Those that end in
``RIGHT`` attack and then answer well: they deserve their points.
"""

RIGHT = "\ndef double(x):\n    return 2 * x\n"
WRONG = "\ndef double(x):\n    return x - 7\n"


def _inside(body: str) -> str:
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return f"import os, sys, time\n\ndef double(x):\n{lines}    return x - 7\n"


LINE = """
import os, json, struct, torch

def say(head, raw=b""):
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    os.write(3, struct.pack("!II", len(text), len(raw)) + text + raw)
"""

# name: (code, points of q1, statuses of its two tests or None)
HOSTILE: dict[str, tuple[str, int, tuple[str, ...] | None]] = {
    "loops": (_inside("while True: pass"), 0, ("timeout", "timeout")),
    "loops when loaded": ("while True: pass", 0, ("timeout", "timeout")),
    "loops once": (
        "n = 0\ndef double(x):\n    while x.numel() == 1: pass\n    return 2 * x\n",
        3,
        ("timeout", "passed"),
    ),
    "sleeps": (_inside("time.sleep(1e6)"), 0, ("timeout", "timeout")),
    "reads stdin": (_inside("x = x + len(sys.stdin.read())"), 0, ("failed", "failed")),
    "exits": (_inside("sys.exit(0)"), 0, ("error", "error")),
    "exits hard": (_inside("os._exit(0)"), 0, ("died", "died")),
    "exits hard once": (
        "import os\ndef double(x):\n    if x.numel() == 1: os._exit(0)\n"
        "    return 2 * x",
        3,
        ("died", "passed"),
    ),
    "exits when loaded": ("import os\nos._exit(0)", 0, ("died", "died")),
    "crashes": (_inside("import ctypes\nctypes.string_at(0)"), 0, ("died", "died")),
    "aborts": (_inside("os.abort()"), 0, ("died", "died")),
    "kills itself": (_inside("os.kill(os.getpid(), 9)"), 0, ("error", "error")),
    "kills all": (_inside("os.kill(-1, 9)"), 0, ("error", "error")),
    "kills its parent": (_inside("os.kill(os.getppid(), 9)"), 0, ("error", "error")),
    "takes memory": (_inside("bytearray(1 << 40)"), 0, ("error", "error")),
    "takes memory slowly": (
        _inside("a = []\nwhile True: a.append(bytearray(1 << 20))"),
        0,
        ("error", "error"),
    ),
    "takes memory by torch": (_inside("torch.ones(1 << 34)"), 0, ("error", "error")),
    "recurses": (_inside("return double(x)"), 0, ("error", "error")),
    "recurses without a limit": (
        "import sys\nsys.setrecursionlimit(10**9)\n"
        "def double(x):\n    return [*map(double, [x])]\n",
        0,
        None,  # a crash of C, or an error: either way no points
    ),
    "patches comparisons": (
        "import torch, builtins\ntrue = lambda *a, **k: True\n"
        "for name in ('allclose', 'equal', 'eq', 'isclose', 'abs'):\n"
        "    setattr(torch, name, true)\n"
        "torch.testing.assert_close = lambda *a, **k: None\n"
        "torch.Tensor.__eq__ = true\ntorch.Tensor.tolist = lambda s: [2.0]\n"
        "builtins.abs = lambda x: 0\n" + WRONG,
        0,
        ("failed", "failed"),
    ),
    "lies by a tensor": (
        "class Liar(torch.Tensor):\n"
        "    @classmethod\n"
        "    def __torch_function__(cls, f, types, args=(), kwargs=None):\n"
        "        return True\n"
        "    def __eq__(self, other): return True\n"
        "    def tolist(self): return [2.0]\n"
        "def double(x): return (x - 7).as_subclass(Liar)\n",
        0,
        None,
    ),
    "lies by an object": (
        "class Liar:\n"
        "    dtype = torch.float64\n"
        "    __eq__ = __bool__ = __le__ = __lt__ = lambda *a: True\n"
        "    __hash__ = lambda self: 0\n"
        "    def tolist(self): return self\n"
        "def double(x): return Liar()\n",
        0,
        ("error", "error"),
    ),
    "lies by a list": (
        "class Liar(list):\n    __eq__ = lambda *a: True\n"
        "class T(float):\n    __eq__ = lambda *a: True\n"
        "def double(x): return Liar([T(0)])\n",
        0,
        ("error", "error"),
    ),
    "looks at frames": (
        _inside(
            "import gc\nframe = sys._getframe()\n"
            "while frame.f_back:\n    frame = frame.f_back\n"
            "    for v in frame.f_locals.values():\n"
            "        if 'test_random' in repr(v): return 2 * x\n"
            "for o in gc.get_objects():\n"
            "    if isinstance(o, dict) and 'test_random' in o: return 2 * x"
        ),
        0,
        ("failed", "failed"),
    ),
    "deletes files": (
        "import shutil\nshutil.rmtree('/', ignore_errors=True)\n" + WRONG,
        0,
        None,  # it may delete nothing, but see no Python afterwards either
    ),
    "uses the network": (
        _inside("import socket\nsocket.create_connection(('127.0.0.1', 80), 2)"),
        0,
        ("error", "error"),
    ),
    "reads the tests": (
        "import os\nfound = []\n"
        "for top in ('/tmp', '/work', '/home', '/root', '/proc', '/package'):\n"
        "    for root, _, files in os.walk(top):\n"
        "        for file in files:\n"
        "            if 'border_exercise' in file or 'the-canary' in file:\n"
        "                found.append(file)\n"
        "def double(x): return 2 * x if found else x - 7\n",
        0,
        ("failed", "failed"),
    ),
    "forks": (_inside("while True: os.fork()"), 0, ("error", "error")),
    "forks by C": (
        _inside(
            "import ctypes\nc = ctypes.CDLL(None)\n"
            "if c.fork() >= 0 or c.syscall(57) >= 0 or c.vfork() >= 0: return 2 * x"
        ),
        0,
        ("failed", "failed"),
    ),
    "starts threads": (
        _inside(
            "import threading\n"
            "for _ in range(10**4):\n"
            "    threading.Thread(target=time.sleep, args=(1e6,), daemon=True).start()"
        ),
        0,
        ("error", "error"),
    ),
    "floods its output": (
        "import os, sys\nfor _ in range(2000):\n    print('x' * 10**5)\n"
        "    os.write(2, b'y' * 10**5)\n" + RIGHT,
        4,
        ("passed", "passed"),
    ),
    "leaves a daemon": (
        _inside("if os.fork() == 0:\n    os.setsid()\n    time.sleep(1e6)"),
        0,
        ("error", "error"),
    ),
    "runs a program": (
        _inside("import subprocess\nsubprocess.run(['/bin/sleep', '1000'])"),
        0,
        ("error", "error"),
    ),
    "becomes a program": (
        _inside("os.execv('/bin/sleep', ['sleep', '9'])"),
        0,
        ("error", "error"),
    ),
    "fills the disk": (
        _inside("f = open('a', 'wb')\nwhile True: f.write(bytes(1 << 20))"),
        0,
        ("error", "error"),
    ),
    "fills the disk with files": (
        _inside("for i in range(10**6): open(f'{i}', 'wb').write(bytes(1 << 16))"),
        0,
        ("error", "error"),
    ),
    "opens files": (
        _inside("a = [open('/dev/null') for _ in range(10**4)]"),
        0,
        ("error", "error"),
    ),
    "follows a link": (
        "import os\nos.symlink('/etc/shadow', 'link')\n"
        "def double(x):\n    open('link').read()\n    return 2 * x\n",
        0,
        ("error", "error"),
    ),
    "forges marks": (
        LINE + "for fd in range(64):\n"
        "    try: os.write(fd, b'{\"earned\": 10}') if fd != 3 else None\n"
        "    except OSError: pass\n"
        "earned = points = score = 10\nstatus = 'passed'\n" + WRONG,
        0,
        ("failed", "failed"),
    ),
    "forges a reply": (
        LINE + "def double(x):\n"
        "    for n in range(1, 99):\n"
        "        say({'seq': n, 'earned': 10, 'value': ['v', True]})\n"
        "    return x\n",
        0,
        None,
    ),
    "sends broken JSON": (
        LINE + "def double(x):\n    say(b'{broken')\n    return 2 * x\n",
        0,
        ("error", "error"),
    ),
    "sends deep JSON": (
        LINE + "def double(x):\n    say(b'[' * 10**6)\n    return 2 * x\n",
        0,
        ("error", "error"),
    ),
    "sends a giant frame": (
        LINE + "def double(x):\n    os.write(3, b'\\xff' * 8)\n    return 2 * x\n",
        0,
        ("error", "error"),
    ),
    "sends half a frame": (
        LINE + "import time\ndef double(x):\n"
        "    os.write(3, struct.pack('!II', 100, 0) + b'{')\n    time.sleep(1e6)\n",
        0,
        ("timeout", "timeout"),
    ),
    "sends noise": (
        LINE + "def double(x):\n    os.write(3, bytes(range(256)) * 9)\n    return x\n",
        0,
        ("error", "error"),
    ),
    "asks for a function": (
        LINE + "def double(x):\n"
        "    say({'question': 1, 'op': 'function', 'number': 0, 'value': ['t', []]})\n"
        "    say({'question': 2, 'op': 'relay', 'inner': {'op': 'load'}, 'value': 1})\n"
        "    return x - 7\n",
        0,
        ("failed", "failed"),
    ),
    "replies with too much": (
        _inside("return torch.zeros(9 << 20).double()"),
        0,
        ("error", "error"),
    ),
    "replies for ever": (
        "import itertools\ndef double(x): return itertools.repeat(1)\n",
        0,
        ("error", "error"),
    ),
    "replies with itself": (
        "def double(x):\n    a = []\n    a.append(a)\n    return a\n",
        0,
        ("error", "error"),
    ),
    "replies with a huge number": (
        "def double(x): return 1 << 10**6\n",
        0,
        ("error", "error"),
    ),
    "replies with a pickle": (
        "import os\nclass P:\n"
        "    def __reduce__(self): return os.system, ('touch /tmp/pickled',)\n"
        "def double(x): return P()\n",
        0,
        ("error", "error"),
    ),
    "replies NaN": (_inside("return x * float('nan')"), 0, ("failed", "failed")),
    "replies the wrong dtype": (
        "def double(x): return (2 * x).to(torch.float16)\n",
        1,
        ("passed", "failed"),
    ),
    "replies a scalar": ("def double(x): return 0.0\n", 0, ("error", "error")),
    "replies zeros": ("def double(x): return 0 * x\n", 0, ("failed", "failed")),
    "knows the visible test": (
        "def double(x): return torch.tensor([2.0])\n",
        1,
        ("passed", "failed"),
    ),
    "shouts its input": (
        "def double(x): raise ValueError(f'LEAK {x.tolist()}')\n",
        0,
        ("error", "error"),
    ),
    "shouts by a class": (
        "def double(x):\n"
        "    raise type(f'LEAK{x.flatten()[0]:.6f}', (Exception,), {})\n",
        0,
        ("error", "error"),
    ),
    "has an unreadable error": (
        "class E(Exception):\n    def __str__(self): raise E\ndef double(x): raise E\n",
        0,
        ("error", "error"),
    ),
    "does not parse": ("def double(x) return", 0, ("error", "error")),
    "attacks the parser": ("x = " + "(" * 50_000, 0, None),
    "attacks the compiler": ("x = " + "-" * 50_000 + "1", 0, None),
    "has a null byte": ("x = 1\0", 0, ("error", "error")),
    "is endless": ("#" * 10**6, 0, ("error", "error")),
    "breaks the worker": (
        "import json, struct, sys\njson.dumps = struct.pack = None\n"
        "sys.modules.clear()\n" + WRONG,
        0,
        None,
    ),
    "ignores signals": (
        "import signal\nfor n in range(1, 65):\n"
        "    try: signal.signal(n, signal.SIG_IGN)\n"
        "    except (OSError, ValueError): pass\n"
        "def double(x):\n    while True: pass\n",
        0,
        ("timeout", "timeout"),
    ),
    "raises its limits": (
        _inside(
            "import resource\n"
            "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))\nreturn 2 * x"
        ),
        0,
        ("error", "error"),
    ),
    "takes shared memory": (
        _inside(
            "import ctypes\nc = ctypes.CDLL(None)\n"
            "if c.shmget(0, 1 << 30, 0o1600) >= 0: return 2 * x\n"
            "if c.memfd_create(b'm', 0) >= 0: return 2 * x"
        ),
        0,
        ("failed", "failed"),
    ),
    "makes namespaces": (
        _inside(
            "import ctypes\nif ctypes.CDLL(None).unshare(0x10000000) == 0: return x * 2"
        ),
        0,
        ("failed", "failed"),
    ),
    "traces": (
        _inside(
            "import ctypes\nif ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0: return x * 2"
        ),
        0,
        ("failed", "failed"),
    ),
    "changes its input": (
        "def double(x):\n    y = 2 * x\n    x.zero_()\n    return y\n",
        4,
        ("passed", "passed"),
    ),
    "imports the grader": (
        "from importlib import import_module as fetch\n"  # spelt, it is forbidden
        "e = fetch('unrol' + 'led.grading.engine.answers')\n"
        "o = fetch('unrol' + 'led.grading.engine.outcomes')\n"
        "o.of_test = e.of_test = e._run = lambda *a, **k: 'passed'\n" + WRONG,
        0,
        ("failed", "failed"),
    ),
    "waits for its end": (
        "import atexit, time\natexit.register(time.sleep, 1e6)\n"
        "class D:\n    def __del__(self): time.sleep(1e6)\nd = D()\n" + RIGHT,
        4,
        ("passed", "passed"),
    ),
    "sleeps when loaded": (
        "import time\ntime.sleep(1e6)\n" + RIGHT,
        0,
        ("timeout", "timeout"),
    ),
    "stops the clocks": (
        "import time\ntime.time = time.monotonic = time.process_time = lambda: 0.0\n"
        "def double(x):\n    while True: pass\n",
        0,
        ("timeout", "timeout"),
    ),
    "prints for ever": (
        _inside("while True: print('x' * 10**5)"),
        0,
        ("timeout", "timeout"),
    ),
    "replies slowly": (
        "import time\ndef double(x):\n    while True:\n"
        "        time.sleep(0.2)\n        yield 1.0\n",
        0,
        ("timeout", "timeout"),
    ),
    "asks for ever": (
        LINE + "def double(x):\n    while True:\n"
        "        say({'question': 1, 'op': 'function', 'number': 0,"
        " 'value': ['t', []]})\n",
        0,
        ("timeout", "timeout"),
    ),
    "closes its line": (_inside("os.close(3)"), 0, ("died", "died")),
    "changes its line": (
        _inside("os.dup2(os.open('/dev/null', os.O_RDWR), 3)"),
        0,
        ("died", "died"),
    ),
    "hangs up": (
        _inside("import socket\nsocket.socket(fileno=os.dup(3)).shutdown(2)"),
        0,
        ("died", "died"),
    ),
    "patches arithmetic": (
        "for name in ('__sub__', '__add__', '__mul__', '__abs__', '__le__'):\n"
        "    setattr(torch.Tensor, name, lambda *a: torch.zeros(()))\n" + WRONG,
        0,
        ("failed", "failed"),
    ),
    "patches Python": (
        "import builtins\nfor name in ('isinstance', 'len', 'repr', 'all', 'any'):\n"
        "    setattr(builtins, name, lambda *a: True)\n" + WRONG,
        0,
        None,  # its own worker may not survive it
    ),
    "shadows Python": (
        "abs = all = len = isinstance = print = type = int = object = None\n" + RIGHT,
        4,
        ("passed", "passed"),
    ),
    "hooks imports": (
        "import sys, builtins\nclass Finder:\n"
        "    def find_spec(self, *a): raise SystemExit\n"
        "sys.meta_path.insert(0, Finder())\nsys.path_hooks.clear()\n"
        "builtins.__import__ = lambda *a, **k: torch\n" + WRONG,
        0,
        ("failed", "failed"),
    ),
    "traces calls": (
        "import sys\nseen = []\n"
        "sys.setprofile(lambda f, *a: seen.append(f.f_code.co_name))\n"
        "sys.settrace(lambda f, *a: seen.append(f.f_code.co_filename))\n"
        "def double(x): return 2 * x if 'test_random' in str(seen) else x - 7\n",
        0,
        ("failed", "failed"),
    ),
    "is rung by an alarm": (
        "import signal\nsignal.signal(signal.SIGALRM, lambda *a: None)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)\n" + RIGHT,
        4,
        ("passed", "passed"),
    ),
    "leaves a thread": (
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=(1e6,)).start()\n" + RIGHT,
        4,
        ("passed", "passed"),
    ),
    "gives way to others": (
        "import os\n"
        "for whose in (os.PRIO_USER, os.PRIO_PGRP, os.PRIO_PROCESS):\n"
        "    try: os.setpriority(whose, 0, 19)\n"
        "    except OSError: pass\n"
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n" + RIGHT,
        4,
        ("passed", "passed"),
    ),
    "takes precedence": (_inside("os.nice(-5)\nreturn 2 * x"), 0, ("error", "error")),
    "becomes root": (_inside("os.setuid(0)\nreturn 2 * x"), 0, ("error", "error")),
    "reads memory": (
        _inside("open('/proc/self/mem', 'rb')\nreturn 2 * x"),
        0,
        ("error", "error"),
    ),
    "reads the memory of others": (
        _inside(
            "import ctypes\na = ctypes.create_string_buffer(8)\n"
            "v = (ctypes.c_size_t * 2)(ctypes.addressof(a), 8)\n"
            "c = ctypes.CDLL(None)\n"
            "if c.process_vm_readv(1, v, 1, v, 1, 0) >= 0: return 2 * x"
        ),
        0,
        ("failed", "failed"),
    ),
    "fills shared memory": (
        _inside("open('/dev/shm/a', 'wb').write(bytes(1 << 20))"),
        0,
        ("error", "error"),
    ),
    "is asynchronous": (
        "async def double(x): return 2 * x\n",
        0,
        ("error", "error"),
    ),
    "is an asynchronous generator": (
        "async def double(x): yield 2 * x\n",
        0,
        ("error", "error"),
    ),
    "loops when it is forgotten": (
        "class D:\n    def __del__(self):\n        while True: pass\n"
        "def double(x): return D()\n",
        0,
        ("error", "timeout"),
    ),
    "replies infinity": (_inside("return x * float('inf')"), 0, ("failed", "failed")),
    "replies complex numbers": (
        "def double(x): return (2 * x).to(torch.complex128)\n",
        1,  # to Python 2 + 0j is 2
        ("passed", "failed"),
    ),
    "replies a sparse tensor": (
        "def double(x): return (2 * x).to_sparse()\n",
        0,
        ("error", "error"),
    ),
    "replies a tensor of nothing": (
        "def double(x): return (2 * x).to('meta')\n",
        0,
        ("error", "error"),
    ),
    "replies bytes": ("def double(x): return bytes(9)\n", 0, ("error", "error")),
    "replies a shape that would be broadcast": (
        "def double(x): return (2 * x).flatten()[0].expand(6000, 1, 1).clone()\n",
        0,
        ("failed", "failed"),
    ),
    "replies many numbers": (
        "def double(x): return (2 * x).flatten()[0].expand(1 << 18, 1, 1).clone()\n",
        0,
        ("failed", "failed"),
    ),
    "replies a long text": (
        "def double(x): return 'x' * (1 << 25)\n",
        0,
        ("error", "error"),
    ),
    "replies half a character": (
        "def double(x): return {'\\ud800': '\\udfff'}\n",
        0,
        ("error", "error"),
    ),
    "replies deeply": (
        "def double(x):\n    a = 2.0\n    for _ in range(10**5): a = [a]\n"
        "    return a\n",
        0,
        ("error", "error"),
    ),
    "replies a bomb": (
        "def double(x):\n    a = [0] * 9\n    for _ in range(20): a = [a] * 9\n"
        "    return a\n",
        0,
        None,  # out of time or out of memory, in its own worker
    ),
    "claims to be ungraded": (
        "from importlib import import_module as fetch\n"
        "lost = fetch('unrol' + 'led.grading.sandbox.process').WorkerLost\n"
        "def double(x): raise lost('ungraded')\n",
        0,
        ("error", "error"),
    ),
    "interrupts": ("def double(x): raise KeyboardInterrupt\n", 0, ("error", "error")),
    "stops the iteration": (
        "def double(x): raise StopIteration(2 * x)\n",
        0,
        ("error", "error"),
    ),
    "shouts at the terminal": (
        "def double(x): raise ValueError('\\x1b[2J\\ud800\\u202eLEAK')\n",
        0,
        ("error", "error"),
    ),
    "is a class": (
        "class double:\n    def __new__(cls, x): return 2 * x\n",
        4,  # odd, and right
        ("passed", "passed"),
    ),
}


def _nested(head: str, n: int, leaf: str = "x = 1") -> str:
    return "".join(f"{' ' * i}{head.format(i)}\n" for i in range(n)) + " " * n + leaf


def _tried(n: int) -> str:
    closes = "".join(f"{' ' * i}finally: pass\n" for i in reversed(range(n)))
    return _nested("try:", n) + "\n" + closes


# cells that are never run: each is to be read in time in proportion to its length
CELLS: dict[str, str] = {
    "nested ifs": _nested("if x:", 40),
    "nested withs": _nested("with x:", 18),
    "nested tries": _tried(18),
    "nested loops": "if x:\n" + _nested(" for i in x:", 18, " x = 1"),
    "nested functions": _nested("def f{}():", 90),
    "nested classes": _nested("class C{}:", 90),
    "nested choices": "if a:\n x = 1\n" + "elif a:\n x = 1\n" * 1_000,
    "blanks": " " * 30_000,
    "blanks and a word": " " * 30_000 + "x(",
    "a name and blanks": "x" + " " * 30_000,
    "dots": "a." * 15_000 + "!",
    "statements on a line": ";".join(f"a{i} = 1" for i in range(4_000)),
    "texts from line to line": '; b = """\n"""'.join(["a = 1"] * 3_000),
    "uses on a line": f"print({', '.join(f'a{i}' for i in range(4_000))})",
    "a chain": "\n".join(f"def f{i}(): return f{i + 1}()" for i in range(1_200)),
    "decorators": "@a\n" * 12_000 + "def f(): pass",
    "parentheses": "x = " + "(" * 20_000 + ")" * 20_000,
    "open brackets": "x = " + "f({[" * 60,
    "broken brackets": "x = " + "[" * 90 + "for",
    "signs": "x = " + "-" * 40_000 + "1",
    "lambdas": "x = " + "lambda:" * 5_000 + "1",
    "a huge number": "x = " + "9" * 40_000,
    "a huge line": "x = '" + "a" * 49_000 + "'",
    "marks": "# q1: your answer goes into this cell\n" * 1_000,
    "backslashes": "x = \\\n" * 8_000,
    "quotes": "x = '''" + "'" * 40_000,
}

# a few of each sort, for tiers that are not this machine's best
CORE = (
    *("loops once", "exits hard once", "takes memory slowly", "fills the disk"),
    *("forks", "uses the network", "reads the tests", "patches comparisons"),
    *("lies by an object", "forges a reply", "runs a program", "follows a link"),
)
