"""A state carried from one update of the parameters to the next, with the graph of the rounds before: where to cut it.

Detaching changes what is trained, so it is tried for one shape only, a recurrent state: what is bound to something
computed from itself, ``y, h = net(x, h)``, and read by nobody between the update and the next round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import libcst as cst

from ..finding import Edit, Finding, Fix, Place
from .scope import Scope
from .syntax import Module, dotted, last_name, walk

_TENSOR = "{path}.{method}()"
_PARTS = "tuple(part.{method}() for part in {path})"
_STATES_TRIED = 12
"""How many states are cut at once, at most. Where that does not help, it costs one analysis; else up to four each."""


def carried(module: Module, finding: Finding, holds: Callable[[Fix], bool]) -> Iterator[Fix]:
    """A fix for a finding at an update of parameters, where all that is wrong is a state that is carried on."""
    for call in module.of(cst.Call):
        name = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
        line = module.around(call, cst.SimpleStatementLine)
        if module.start(name) == finding.place and line is not None:
            yield from Carried(module, line, holds).fixes()


class Carried:
    """The line of an update, and the states that may lead from behind it into the graph before it."""

    def __init__(self, module: Module, update: cst.SimpleStatementLine, holds: Callable[[Fix], bool]) -> None:
        self.module = module
        self.update = update
        self.holds = holds
        self.function = module.around(update, cst.FunctionDef)
        self.scope = Scope(module, self.function or module.tree)

    def fixes(self) -> Iterator[Fix]:
        needed = self._needed(list(dict.fromkeys([*self._names(), *self._attributes()]))[:_STATES_TRIED])
        detached = dict.fromkeys(needed, _TENSOR)
        cuts = {path: kind for path in needed if (kind := self._kind(path, detached))}
        if cuts and len(cuts) == len(needed):
            yield self._cut(cuts)

    # Which cuts

    def _needed(self, paths: list[str]) -> list[str]:
        """Those of some states that have to be cut, all of them, for the finding to go."""
        if not paths or not self.holds(self._cut(dict.fromkeys(paths, _TENSOR))):
            return []
        for path in list(paths):
            rest = [other for other in paths if other != path]
            if rest and self.holds(self._cut(dict.fromkeys(rest, _TENSOR))):
                paths = rest
        return paths

    def _kind(self, path: str, cuts: Mapping[str, str]) -> str | None:
        """How a state is cut.

        Whatever is not understood loses its graph as well. So a copy, which keeps the graph, must keep the finding.
        """
        named = "namedtuple" in self.module.tree.code.lower()  # a plain tuple has none of its names
        for kind in (_TENSOR,) if named else (_TENSOR, _PARTS):
            tried = {**cuts, path: kind}
            if self.holds(self._cut(tried)) and not self.holds(self._cut(tried, copied=path)):
                return kind
        return None

    def _cut(self, cuts: Mapping[str, str], copied: str = "") -> Fix:
        """The states bound to what they are without a graph, on lines of their own below the update."""
        codes = [
            f"{path} = {kind.format(path=path, method='clone' if path == copied else 'detach')}"
            for path, kind in cuts.items()
        ]
        lines = self.module.tree.code.split("\n")
        start, row = self.module.start(self.update), self.module.end(self.update).line
        indent, end = lines[start.line - 1][: start.column], Place(row, len(lines[row - 1]))
        text = "".join(f"\n{indent}{code}" for code in codes)
        return Fix(f"cut the graph of what is carried on: `{'; '.join(codes)}`", False, (Edit(end, end, text),))

    # Which states

    def _names(self) -> Iterator[str]:
        """Names that a round of a loop around the update, or a call of its function, takes from the one before."""
        parameters = [p.name.value for p in self.function.params.params] if self.function else []
        loops = [node for node in self.module.above(self.update) if isinstance(node, (cst.For, cst.While))]
        for assign, part in self._targets(self.scope.node):
            if not isinstance(part, cst.Name) or self._backpropagated(part.value) or not self._binds(part):
                continue
            name, loop = part.value, next((loop for loop in loops if loop in self.module.above(assign)), None)
            again = loop is not None or name in parameters
            if again and self._taken_over(name, assign, loop) and not self._read_behind(name, loop):
                yield name

    def _binds(self, name: cst.Name) -> bool:
        """Not ``i`` or ``h`` of ``h[i] = ...``."""
        return any(found is name for found, _ in self.scope.bindings(name.value))

    def _taken_over(self, name: str, assign: cst.Assign, loop: cst.CSTNode | None) -> bool:
        """Whether what is assigned is computed from what the name was in the round before."""
        reads = [use for use in self.scope.uses(name) if assign.value in (use, *self.module.above(use))]
        first = self.module.start(loop) if loop is not None else Place(0, 0)
        bound = [self.scope.bound_last(name, use) for use in reads]
        before = all(since is None or self.module.start(since) < first for since in bound)
        return bool(reads) and before and not self.scope.iterates(name)

    def _read_behind(self, name: str, loop: cst.CSTNode | None) -> bool:
        """Whether a name is read between the update and the end of the round, other than to be handed on."""
        start, end = self.module.end(self.update), self.module.end(loop if loop is not None else self.scope.node)
        behind = [use for use in self.scope.uses(name) if start <= self.module.start(use) < end]
        return any(self.module.around(use, cst.Return) is None for use in behind)

    def _attributes(self) -> Iterator[str]:
        """``self.h``, or ``net.h`` of what is called here, where a class of the file computes its ``h`` from itself."""
        called = (path for call in self._calls(self.scope.node) for path in self._receivers(call))
        owners = list(dict.fromkeys(["self", *called] if self.module.around(self.update, cst.ClassDef) else called))
        for assign, part in self._targets(self.module.tree):
            path = dotted(part) if isinstance(part, cst.Attribute) else ""
            holder, _, name = path.partition(".")
            if holder != "self" or "." in name or self._backpropagated(name) or self._mentioned_behind(name):
                continue
            if any(isinstance(read, cst.Attribute) and dotted(read) == path for read in walk(assign.value)):
                yield from (f"{owner}.{name}" for owner in owners)

    def _receivers(self, call: cst.Call) -> Iterator[str]:
        """``net`` of ``net(x)`` and of ``net.step(x)``."""
        for node in (call.func, call.func.value if isinstance(call.func, cst.Attribute) else call.func):
            if (path := dotted(node)) and self.scope.binds(path.partition(".")[0]):
                yield path

    def _mentioned_behind(self, attribute: str) -> bool:
        """Whether an attribute is read behind the update, here or in a method that is called there."""
        end = self.module.end(self.update)
        behind = [
            node for node in walk(self.scope.node) if node in self.module.ranges and self.module.start(node) >= end
        ]
        called = {last_name(node.func) for node in behind if isinstance(node, cst.Call)}
        methods = [node for node in self.module.of(cst.FunctionDef) if node.name.value in called]
        nodes = [*behind, *(part for method in methods for part in walk(method))]
        return any(isinstance(node, cst.Attribute) and node.attr.value == attribute for node in nodes)

    def _backpropagated(self, name: str) -> bool:
        """Whether ``backward`` is called on something of that name: a loss, and no state."""
        functions = [call.func for call in self.module.of(cst.Call) if last_name(call.func) == "backward"]
        return any(isinstance(node, cst.Attribute) and last_name(node.value) == name for node in functions)

    # Parts of the text

    def _calls(self, node: cst.CSTNode) -> Iterator[cst.Call]:
        return (part for part in walk(node) if isinstance(part, cst.Call))

    def _targets(self, node: cst.CSTNode) -> Iterator[tuple[cst.Assign, cst.CSTNode]]:
        """Assignments with everything that stands in their targets."""
        for assign in walk(node):
            if isinstance(assign, cst.Assign):
                yield from ((assign, part) for target in assign.targets for part in walk(target.target))
