"""In-place writes that go on with a graph which a backward has freed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..heap.join import ASSUMPTIONS
from ..heap.state import Declared, same_or_none
from ..heap.values import Guard, Node, Saved, Value
from ..program.sealed import sealed
from ..program.site import Site
from ..rule import Rule
from ..torchfacts import ops
from ..trace import events
from ..trace.trace import Trace

RULES = (
    Rule(
        "TIP110",
        "freed-graph",
        "an in-place write goes on with a graph that a backward has freed",
        "freed",
        "goes on with a graph",
        other="freed",
        effect="the next backward raises",
        advice="`detach()` what is kept after a backward",
        fix="never",
        at_run_time=False,
    ),
)

_OPAQUE = frozenset(("phi", "call", "module", "functional_call", "parametrization", "checkpoint", "grad"))
"""Nodes whose parents a backward may visit or not, or visit under saved-tensor hooks."""


@sealed(frozen=True, slots=True, eq=False)
class Freed:
    """A backward that freed the graph of a node: the assumptions under which it ran, and its place."""

    guard: Guard
    site: Site


FREED: Declared[Node, Freed | None] = Declared(same_or_none)
"""The nodes that a backward without ``retain_graph`` started from."""
RESUMED: Declared[Node, Site | None] = Declared(same_or_none)
"""In-place writes that were recorded after such a backward: the node of each, and its place."""


@events.recorded.listen
def resume(m: Trace, node: Node, site: Site) -> None:
    """Note an in-place write that may go on with a freed graph."""
    if m.state[FREED]:
        m.state.set(m.state[RESUMED], node, site)
        m.note_way(site)


@events.run_backward.listen
def run_backward(m: Trace, values: Sequence[Value], frees: bool, site: Site) -> None:
    """Report the writes by which a backward meets what another one has freed; note what this one frees."""
    path = m.state.guard()
    if len(path) >= ASSUMPTIONS:
        return  # some of what the path assumes may have been dropped
    roots = [node for node, guard in m.sources(*values) if guard <= path]
    raises = bool(m.state[RESUMED]) and _raises(m, roots, path)
    for node in roots if frees and not raises else ():
        m.state.set(m.state[FREED], node, Freed(path, site))


def _raises(m: Trace, roots: Iterable[Node], path: Guard) -> bool:
    """Report the first write on each way from these nodes to one that has lost what it saved; whether there is one."""
    visited = list(_visited(roots, path))
    resumed = m.state[RESUMED]
    if not any(node in resumed for node in visited):
        return False
    freed = {node: when.site for node, when in m.state[FREED].items() if when is not None and when.guard <= path}
    lost = {node: start for start in freed for node in _lost(start, path)}
    ways: dict[Node, Node] = {}  # the nodes with a way to a lost one that no write is on, and where that was freed
    found = False
    for node in visited:
        start = next((ways[parent] for parent in node.parents if parent in ways), None)
        if start is not None and (site := resumed.get(node)) is not None:
            m.refuse("freed", site, other=freed[start])
            found = True
        elif start is not None or node in lost:
            ways[node] = start or lost[node]
    return found


def _visited(roots: Iterable[Node], path: Guard) -> Iterator[Node]:
    """Yield the nodes that a backward from these surely visits, parents first."""
    seen: set[Node] = set()
    todo = [(node, False) for node in roots]
    while todo:
        node, done = todo.pop()
        if done:
            yield node
        elif node not in seen and node.guard <= path:
            seen.add(node)
            todo.append((node, True))
            todo.extend((parent, False) for parent in node.parents if node.op not in _OPAQUE)


def _lost(start: Node, path: Guard) -> Iterator[Node]:
    """Yield the nodes that surely saved something which a backward from ``start`` has freed.

    It went through, so the result requires grad, and so does what alone can be the reason.
    """
    proven = {start}
    for node in reversed(list(_visited((start,), path))):
        alone = len(node.parents) + len(node.leaves) == 1
        sure = node in proven and (alone or _is_loss(node.op))
        if sure and alone:
            proven |= {*node.parents}
        if _may_retain(node.op):
            continue
        if (sure and _is_loss(node.op)) or any(_is_sure(saved, path, sure) for saved in node.saves):
            yield node


def _is_loss(op: str) -> bool:
    """Whether an operator or layer is a loss, known by its `reduction`: it always keeps something, be it of its own."""
    return "reduction" in _options(op)


def _may_retain(op: str) -> bool:
    """Whether an operator or layer is told if its graph may be used again: `linear_cross_entropy`, by `options`."""
    return "options" in _options(op)


def _options(op: str) -> frozenset[str]:
    """The parameters of a function, or of the constructor of a layer."""
    layer = ops.layer(f"torch.nn.{op}")
    if layer is not None:
        return frozenset(layer["init"].split())
    return frozenset(param.name for each in ops.lookup(f"torch.nn.functional.{op}") for param in each.params)


def _is_sure(saved: Saved, path: Guard, required: bool) -> bool:
    """Whether a node surely saves a tensor that a backward frees. ``required``: what it asks for requires grad."""
    doubtful = saved.possible or saved.hooked or saved.device or (saved.asking and not required)
    return not doubtful and not saved.slot.startswith("ctx.") and saved.guard <= path
