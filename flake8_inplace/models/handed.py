"""Code of Python and PyTorch that is handed a function and calls it: threads, pools, timers, callbacks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..heap.state import Declared, Exit, latest
from ..heap.values import (
    NONE,
    Attributes,
    Const,
    Dict,
    Items,
    List,
    Object,
    Ref,
    Tuple,
    Unknown,
    Value,
    constant,
)
from ..trace import events
from ..trace.callables import Bound, Managed, Partial
from ..trace.frames import Function
from ..trace.trace import Trace
from . import containers, lineage, managers, tensors
from .iteration import elements
from .registry import Call, method, model

THREAD = Ref("threading.Thread")
POOL = Ref("multiprocessing.pool.Pool")
EXECUTOR = Ref("concurrent.futures.Executor")
FUTURE = Ref("concurrent.futures.Future")
RESULT = Ref("multiprocessing.pool.AsyncResult")
TIMER = Ref("timeit.Timer")
STACK = Ref("contextlib.ExitStack")
LOOP = Ref("asyncio.AbstractEventLoop")
QUEUE = Ref("queue.Queue")
SIGNAL = Ref("threading.Condition")
SEMAPHORE = Ref("threading.Semaphore")
CLASSES = frozenset({THREAD, POOL, EXECUTOR, FUTURE, RESULT, TIMER, STACK, LOOP, QUEUE, SIGNAL, SEMAPHORE})
"""The classes of this module, whose methods are models."""
_MODES = "modes before"
"""What a stack holds of the modes before the first context that it has entered."""
_MADE = "what was made"
"""What a future holds. No attribute has this name: ``future.result`` is a method."""


def may_call(call: Call) -> None:
    """Code that is not shown may call the functions that it is given, with arguments that nobody knows."""
    for value in call.values:
        function = call.m.see(value)
        if isinstance(function, (Function, Bound, Partial)) and _matters(function):
            _maybe(call, function)


def _matters(function: Value) -> bool:
    """Whether a function may overwrite something of its caller's. Of a lambda the scan does not tell.

    A function of a module that is given nothing does what it does as an entry point, and is read there.
    """
    holds = False
    while isinstance(function, (Bound, Partial)):
        given = (*function.args, *function.kwargs.values()) if isinstance(function, Partial) else (function,)
        holds = holds or not all(isinstance(value, Const) for value in given)
        function = function.function
    if not isinstance(function, Function):
        return False
    if function.text is None:
        return True
    return function.text.worth and (holds or function.frame.function is not None)


def _maybe(call: Call, function: Value) -> None:
    m = call.m
    mark, called = m.state.mark(), frozenset({(Unknown(scalar=True), True)})
    m.state.assume(called)
    reached = m.work.reached.copy()
    m.call(function, _unknowns(function), {}, call.site)
    m.work.reached = reached  # other code may call it with arguments that are known
    changed = m.state.changes(mark)
    m.state.merge(mark, [Exit(called, changed), Exit(frozenset((symbol, False) for symbol, _ in called), {})])


def _unknowns(function: Value) -> list[Value]:
    """As many unknown arguments as a function asks for."""
    given = 0
    while isinstance(function, (Bound, Partial)):
        given += 1 if isinstance(function, Bound) else len(function.args)
        function = function.function
    if not isinstance(function, Function):
        return []
    params = (*function.node.params.posonly_params, *function.node.params.params)
    required = [param for param in params if param.default is None]
    return [*(Unknown() for _ in required[given:])]


def _arguments(m: Trace, given: Value) -> list[Value]:
    """The elements of a tuple of arguments."""
    return elements(m, given)[0] if m.see(given) != NONE else []


def _named(m: Trace, given: Value) -> dict[str, Value]:
    table = m.see(given)
    return {str(name): value for name, value in m.state.get(table).items.items()} if isinstance(table, Dict) else {}


# -- threads


@model("threading.Thread")
def _thread(call: Call) -> Value:
    names = ("group", "target", "name", "args", "kwargs")
    return Object(THREAD, {**dict(zip(names, call.args, strict=False)), **call.kwargs})


@model("threading.Timer")
def _timer(call: Call) -> Value:
    names = ("interval", "target", "args", "kwargs")
    given = {"target" if name == "function" else name: value for name, value in call.kwargs.items()}
    return Object(THREAD, {**dict(zip(names, call.args, strict=False)), **given})


@method(THREAD.name, "start", "run")
def _run_thread(call: Call, thread: Object) -> Value:
    m, run = call.m, lineage.member(thread.cls, "run")
    if isinstance(run, Function):
        m.run(run, [thread], {}, call.site)
        return NONE
    held = m.state.get(thread).items
    if (target := held.get("target", NONE)) != NONE:
        m.call(target, _arguments(m, held.get("args", NONE)), _named(m, held.get("kwargs", NONE)), call.site)
    return NONE


# -- queues. What waits for another thread lets it take out what is in them

WAITED: Declared[str, int] = Declared(latest)
"""When the program last waited for another thread."""
_WITHIN, _LAST = "what is in it", "when it got that"


@model("queue.Queue", "queue.SimpleQueue", "queue.LifoQueue", "asyncio.Queue", "asyncio.LifoQueue")
def _queue(call: Call) -> Value:
    return Object(QUEUE, {_WITHIN: List(), _LAST: Const(0)})


@model(*(f"{module}.{name}" for module in ("threading", "asyncio") for name in ("Event", "Condition", "Barrier")))
def _signal(call: Call) -> Value:
    return Object(SIGNAL)


@model(*(f"{module}.{name}" for module in ("threading", "asyncio") for name in ("Semaphore", "BoundedSemaphore")))
def _semaphore(call: Call) -> Value:
    return Object(SEMAPHORE)


@method(QUEUE.name, "put", "put_nowait")
def _put(call: Call, queue: Object) -> Value:
    m, held = call.m, call.m.state.get(queue).items
    items, last = held[_WITHIN], constant(held[_LAST])
    if isinstance(items, List):
        if isinstance(last, int) and m.state[WAITED].get("", 0) > last:
            containers.clear(m, items)
        containers.append(m, items, call.argument(0, "item"))
        m.state.put(queue, Attributes({_WITHIN: items, _LAST: Const(m.tick())}))
    tensors.unknown_call(m, *call.values)  # another thread may do anything with it
    return NONE


@method(QUEUE.name, "get", "get_nowait")
def _get(call: Call, queue: Object) -> Value:
    m, items = call.m, call.m.state.get(queue).items[_WITHIN]
    if isinstance(items, List) and m.state.get(items).items:
        return containers.pop(m, items, 0)
    return _wait(call, queue)


@model("asyncio.sleep")
@method(QUEUE.name, "join")
@method(SIGNAL.name, "wait", "wait_for")
@method(SEMAPHORE.name, "acquire")
def _wait(call: Call, owner: Object | None = None) -> Value:
    waits(call.m)
    return Unknown()


def waits(m: Trace) -> None:
    """Note that the program waits: other threads and coroutines go on meanwhile."""
    m.state.set(m.state[WAITED], "", m.tick())


# -- event loops. A coroutine is what it returns: its function runs where it is called


@model("asyncio.to_thread")
def _to_thread(call: Call) -> Value | None:
    return call.m.call(call.args[0], call.args[1:], call.kwargs, call.site) if call.args else None


@model("asyncio.run", "asyncio.create_task", "asyncio.ensure_future", "asyncio.wait_for", "asyncio.shield")
@method(LOOP.name, "run_until_complete", "create_task")
def _awaited(call: Call, loop: Object | None = None) -> Value | None:
    return call.args[0] if call.args else None


@model("asyncio.gather")
def _gather(call: Call) -> Value:
    return List(call.args)


@model("asyncio.get_running_loop", "asyncio.get_event_loop", "asyncio.new_event_loop")
def _loop(call: Call) -> Value:
    return Object(LOOP)


@method(LOOP.name, "run_in_executor")
def _run_in_executor(call: Call, loop: Object) -> Value | None:
    return call.m.call(call.args[1], call.args[2:], {}, call.site) if len(call.args) > 1 else None


# -- pools


@model("concurrent.futures.ThreadPoolExecutor", "concurrent.futures.thread.ThreadPoolExecutor")
def _executor(call: Call) -> Value:
    return Object(EXECUTOR)


@model("multiprocessing.pool.ThreadPool", "multiprocessing.dummy.Pool")
def _pool(call: Call) -> Value:
    return Object(POOL)


@method(EXECUTOR.name, "submit")
def _submit(call: Call, pool: Object) -> Value | None:
    if not call.args:
        return None
    return Object(FUTURE, {_MADE: call.m.call(call.args[0], call.args[1:], call.kwargs, call.site)})


@method(FUTURE.name, "result")
@method(RESULT.name, "get")
def _result(call: Call, future: Object) -> Value:
    return call.m.state.get(future).items[_MADE]


@method(FUTURE.name, "add_done_callback")
def _when_done(call: Call, future: Object) -> Value | None:
    return call.m.call(call.args[0], [future], {}, call.site) if call.args else None


@method(EXECUTOR.name, "map")
def _map_columns(call: Call, pool: Object) -> Value | None:
    """``pool.map(f, xs, ys)``, which calls the function at once, read or not."""
    if not call.args:
        return None
    columns = [elements(call.m, column) for column in call.args[1:]]
    rows = zip(*(items for items, _ in columns), strict=False)
    return _gathered(call, rows, all(done for _, done in columns))


@method(POOL.name, "map", "imap", "imap_unordered")
def _map(call: Call, pool: Object) -> Value | None:
    if len(call.args) < 2:
        return None
    items, exact = elements(call.m, call.args[1])
    return _gathered(call, ([item] for item in items), exact)


@method(POOL.name, "starmap")
def _starmap(call: Call, pool: Object) -> Value | None:
    if len(call.args) < 2:
        return None
    rows, exact = elements(call.m, call.args[1])
    return _gathered(call, (elements(call.m, row)[0] for row in rows), exact)


def _gathered(call: Call, rows: Iterable[Iterable[Value]], exact: bool) -> List:
    """The results of a function for rows of arguments, each put into the list before the next is computed."""
    m, results = call.m, List()
    for row in rows:
        containers.append(m, results, m.call(call.args[0], list(row), {}, call.site))
    m.state.put(results, Items(m.state.get(results).items, not exact))
    return results


@method(POOL.name, "apply", "apply_async")
def _apply(call: Call, pool: Object) -> Value | None:
    if not call.args:
        return None
    m, given = call.m, (call.argument(1, "args"), call.argument(2, "kwds"))
    result = m.call(call.args[0], _arguments(m, given[0]), _named(m, given[1]), call.site)
    return result if call.name == "apply" else Object(RESULT, {_MADE: result})


@method(POOL.name, "map_async", "starmap_async")
def _map_async(call: Call, pool: Object) -> Value | None:
    mapped = (_map if call.name == "map_async" else _starmap)(call, pool)
    return Object(RESULT, {_MADE: mapped}) if mapped is not None else None


# -- timers


@model("timeit.timeit", "timeit.repeat")
def _time(call: Call) -> Value:
    return _repeatedly(call, call.argument(0, "stmt"))


@model("timeit.Timer")
def _make_timer(call: Call) -> Value:
    return Object(TIMER, {"stmt": call.argument(0, "stmt")})


@method(TIMER.name, "timeit", "repeat", "autorange")
def _run_timer(call: Call, timer: Object) -> Value:
    return _repeatedly(call, call.m.state.get(timer).items["stmt"])


def _repeatedly(call: Call, function: Value) -> Value:
    """A statement that is timed, as a function; a text is not read."""
    for _ in range(2):
        call.m.call(function, [], {}, call.site)
    return Unknown(scalar=True)


# -- callbacks


@model("contextlib.ExitStack")
def _exit_stack(call: Call) -> Value:
    return Object(STACK, {"callbacks": List()})


@method(STACK.name, "callback")
def _callback(call: Call, stack: Object) -> Value | None:
    callbacks = call.m.state.get(stack).items["callbacks"]
    if not call.args or not isinstance(callbacks, List):
        return None
    containers.append(call.m, callbacks, Partial(call.args[0], tuple(call.args[1:]), call.kwargs))
    return call.args[0]


@method(STACK.name, "enter_context")
def _enter_context(call: Call, stack: Object) -> Value | None:
    """Enter it. What a function under ``contextmanager`` does after its ``yield`` is not read."""
    manager, callbacks = call.seen(0), call.m.state.get(stack).items["callbacks"]
    if isinstance(manager, Managed):
        yielded: list[Value] = []
        function = replace(manager.function, managed=False, resume=yielded.append, once=True)
        call.m.run(function, manager.args, manager.kwargs, call.site)
        return yielded[0] if yielded else Unknown()
    if not isinstance(callbacks, List):
        return None
    leave = lineage.member(manager.cls, "__exit__") if isinstance(manager, Object) else None
    if isinstance(leave, Function):
        containers.append(call.m, callbacks, Partial(Bound(leave, manager), (NONE, NONE, NONE), {}))
    held = call.m.state.get(stack)
    if _MODES not in held.items:
        before = Const(managers.modes_before(call.m))
        call.m.state.put(stack, Attributes({**held.items, _MODES: before}, held.open))
    return managers.enter(call.m, manager, call.site)


@method(STACK.name, "close", "__exit__")
def _close(call: Call, stack: Object) -> Value:
    """The callbacks run, the last one first, and the modes are as before the first context was entered."""
    held = call.m.state.get(stack).items
    callbacks = held["callbacks"]
    if isinstance(callbacks, List):
        for callback in reversed(call.m.state.get(callbacks).items):
            call.m.call(callback, [], {}, call.site)
        containers.clear(call.m, callbacks)
    managers.restore(call.m, constant(held.get(_MODES, NONE)) or ())
    return NONE


# -- functions that are differentiated


@model("torch.autograd.gradcheck", "torch.autograd.gradgradcheck")
def _gradcheck(call: Call) -> Value | None:
    """It calls the function with these inputs, and goes back from what it returns."""
    inputs = call.m.see(call.argument(1, "inputs"))
    if not call.args or inputs == NONE:
        return None
    m, given = call.m, [*(inputs.items if isinstance(inputs, Tuple) else (inputs,))]
    result = m.call(call.args[0], given, {}, call.site)
    events.reach(m, (result,))
    events.free_graph(m, m.history(result))
    return Unknown(scalar=True)


def own_class(cls: Value) -> str:
    """The class of this module that a class is, or derives from; an empty name if there is none."""
    return next((base.name for base in lineage.lineage(cls) if isinstance(base, Ref) and base in CLASSES), "")
