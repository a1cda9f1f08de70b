"""What to write instead: a finding becomes edits of the text, graded safe or unsafe.

The forms to try stand in `forms`, best first. None is offered on trust: the text with the edits is analysed again,
and a form that leaves its finding, or brings a new one, is passed over. What the analysis cannot see is whether
somebody else was meant to see the overwriting; that decides the grade, and `scope` decides it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from time import thread_time

import libcst as cst

from ..analysis import Result, analyze
from ..finding import Edit, Finding, Fix, Place, Related
from ..hazards.saved import UPDATES
from ..rules import RULES
from .arrays import arrays
from .bound import Bound, binds_variables
from .carried import carried
from .containers import containers
from .copies import RAISING, Copies
from .detached import DETACHED, detached
from .expected import comes_late, is_related_by_caller
from .forms import Form
from .hooked import hooked
from .iteration import iteration
from .kept import kept
from .listed import as_list
from .marked import marked
from .parts import parts
from .repeated import repeated
from .statements import statement_around, writing_statements
from .syntax import GATHER, Module, last_name, moved, root_of, viewed_root, written_at
from .taken import is_named_twice
from .writes import observed

_LINE_END = re.compile(r"\r\n|\n|\r")


# Texts and edits


def apply(text: str, edits: Sequence[Edit]) -> str:
    """The text with the edits made. Each line keeps its own end; new lines end like the one they are put into."""
    starts, ends = [0], []
    for match in _LINE_END.finditer(text):
        starts.append(match.end())
        ends.append(match[0])
    common = ends[0] if ends else "\n"

    def offset(place: Place) -> int:
        return starts[place.line - 1] + place.column

    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        newline = ends[edit.start.line - 1] if edit.start.line <= len(ends) else common
        text = text[: offset(edit.start)] + edit.text.replace("\n", newline) + text[offset(edit.end) :]
    return text


@dataclass(frozen=True, slots=True)
class Mended:
    """A text after its fixes, with each finding that was removed and how, and those that are left.

    ``late``: whether time was up before all fixes were tried.
    """

    text: str
    done: tuple[tuple[Finding, Fix], ...]
    left: tuple[Finding, ...]
    late: bool = False


def mend(
    text: str,
    wanted: Callable[[str, Sequence[Finding]], Sequence[bool]],
    unsafe: bool,
    analysis: Callable[[str], Result] = analyze,
    path: str = "",
    end: float = math.inf,
) -> Mended:
    """Fix one finding after the other until none is left that can be fixed.

    ``wanted`` says which findings in a text count: what is silenced is not touched. ``analysis``, ``path`` and ``end``
    are those of `Repair`.
    """
    done: list[tuple[Finding, Fix]] = []
    late = False
    refused: set[Place] = set()
    while True:
        repair = Repair(text, analysis, path, end)
        counted = [finding for finding, yes in zip(repair.found, wanted(text, repair.found), strict=True) if yes]
        for finding in counted:
            if finding.place in refused:
                continue
            fix = repair.propose(finding, only_safe=not unsafe)
            if fix is not None:
                break
            refused.add(finding.place)
            late = late or repair.late
        else:
            return Mended(text, tuple(done), tuple(counted), late)
        text = apply(text, fix.edits)
        refused = {moved(place, fix.edits) for place in refused}
        done.append((finding, fix))


# Proposals


class Repair:
    """What can be done about the findings of one text.

    ``analysis`` analyses a text; that of a project reads the file at ``path`` with those that it hangs on. At ``end``,
    a processor time of this thread, no more texts are tried; ``late`` says whether one was left out.
    """

    def __init__(
        self, text: str, analysis: Callable[[str], Result] = analyze, path: str = "", end: float = math.inf
    ) -> None:
        self.late = False
        self._end = end
        self._tried: dict[str, Result | None] = {}
        self.text = _LINE_END.sub("\n", text)
        self._analysis = analysis
        self._path = path
        with observed(path) as self._facts:
            result = analysis(self.text)
        self.found = result.findings
        self._problem = result.problem
        self._module: Module | None = None

    def propose(self, finding: Finding, only_safe: bool = False) -> Fix | None:
        """The best fix that holds when the result is analysed again, or the best safe one, or None."""
        if finding not in self.found or RULES[finding.code].fix == "never":
            return None
        for fix in self._fixes(finding):
            if (fix.safe or not only_safe) and self._holds(finding, fix):
                return fix
        return None

    def _fixes(self, finding: Finding) -> Iterator[Fix]:
        """What may help, the best first."""
        if self._module is None:
            self._module = Module(self.text)
        form, holds = RULES[finding.code].kind, partial(self._holds, finding)
        finding = _in_file(finding)
        if form in UPDATES:
            yield from carried(self._module, finding, holds)
            return
        if self._path and finding.place not in self._facts.writes:
            yield from self._of_others(self._module, finding)
            return
        usual = Form(self._module, finding, self._facts)
        if form in DETACHED:
            yield from detached(usual)
            return
        if form == "argument" and is_named_twice(self._module, finding.place):
            return  # which of the two names was to have the new values?
        if form == "argument" and usual.fact is not None and is_related_by_caller(self._module, usual.fact):
            return  # the caller is to see what was written
        usual.readers.late = form in ("read", "argument", "dataset") and comes_late(self._facts, finding, self.found)
        copies = Copies(self._module, finding, self._after, self._facts.layers)
        bound = Bound(self._module, finding, self._after)
        mixed = form == "read" and _is_read_by_itself(self._module, finding)
        yield from self._first(usual, copies, bound)
        if not mixed:
            yield from usual.fixes()
        if form == "callee" or (form == "read" and not mixed):
            yield from hooked(usual)
        yield from iteration(usual)
        yield from as_list(usual)
        yield from parts(usual)
        yield from self._last(usual, copies, bound)
        if form == "read" and not mixed:
            usual.readers.strict = False
            yield from usual.fixes()

    def _first(self, usual: Form, copies: Copies, bound: Bound) -> Iterator[Fix]:
        """What is better than the write in another form."""
        module, finding, form = usual.module, usual.finding, usual.form
        if form == "expanded":
            yield from repeated(module, finding)
        if form == "dirty":
            yield from marked(usual)
        if form in RAISING and usual.unseen():
            yield from copies.fixes(safe=False)
            for statement, target in writing_statements(module, finding.place):
                yield from usual.clone_first(target, statement)
        if form == "read" and usual.fact is not None and not usual.fact.computed:
            # whoever has the memory is to have what is written to it, and only a name beside it not
            copied = chain(bound.kept(), kept(module, finding, self._after, partial(self._diverts, finding)))
            yield from (fix for fix in copied if self._names_only(finding, fix))

    def _last(self, usual: Form, copies: Copies, bound: Bound) -> Iterator[Fix]:
        """What leaves the write as it is: copies for those who are to have the old values, and views made again."""
        module, finding, form = usual.module, usual.finding, usual.form
        if form in RAISING and not usual.doubted():
            yield from copies.fixes(safe=usual.alone())
        if form == "base":
            yield from bound.remade()
        if form == "no_grad":
            yield from bound.viewed_again()
        if form == "read":
            yield from bound.kept()
        if form in ("read", "snapshot", "numpy"):
            yield from kept(module, finding, self._after, partial(self._diverts, finding))
        if form in ("read", "argument"):
            yield from arrays(usual)
        if form == "argument" or (form == "callee" and usual.heard()):
            yield from bound.given()
        if form == "argument" and usual.fact is not None:
            yield from bound.entered(usual.fact)
        if form in ("read", "argument"):
            yield from containers(module, finding, usual.fact, self._after)

    def _of_others(self, module: Module, finding: Finding) -> Iterator[Fix]:
        """What may help where a function of another file writes: copies in this one."""
        form, bound = RULES[finding.code].kind, Bound(module, finding, self._after, of_calls=True)
        if form in RAISING:
            yield from Copies(module, finding, self._after, self._facts.layers).fixes(safe=False)
            yield from bound.handed(unread=True)
        if form in ("read", "argument"):
            yield from bound.handed(unread=False)
            yield from (fix for fix in bound.kept() if self._names_only(finding, fix, lists=True))

    def _holds(self, finding: Finding, fix: Fix) -> bool:
        """Whether the fix removes its finding, brings none, hides none, and leaves a program that can be read."""
        others = {moved(other.place, fix.edits): other for other in self.found if other != finding}
        after = self._after(fix.edits)
        if after is None:
            return False
        left = {each.place: RULES[each.code].silent for each in after}
        # where a silent one was, PyTorch may refuse the write now: a new tensor of inference mode, emptied outside
        known = all(place in others and silent >= RULES[others[place].code].silent for place, silent in left.items())
        return known and self._hidden(finding, fix) <= left.keys()

    def _hidden(self, finding: Finding, fix: Fix) -> set[Place]:
        """Other writes to the memory of a silent finding, which a fix does not come to: they must still be found."""
        if RULES[finding.code].kind in RAISING or not fix.edits:
            return set()
        readers, first = {other.place for other in finding.related}, min(edit.start for edit in fix.edits)
        others = [
            other
            for other in self.found
            if other.code == finding.code and readers.intersection(each.place for each in other.related)
        ]
        hidden = {other.place for other in others if other.place < min(finding.place, first)}
        written = self._written(finding)
        rebound = all(edit.start.line == finding.line for edit in fix.edits)  # only these get a new tensor
        if rebound and any("." in name for name in written):  # and another method writes to what the attribute has
            hidden |= {other.place for other in others if self._function(other) is not self._function(finding)}
        if rebound and written:
            later = (other for other in others if other.place > finding.place and self._share(finding, other))
            hidden |= {other.place for other in later if written.isdisjoint(self._written(other))}
        return hidden

    def _names_only(self, finding: Finding, fix: Fix, lists: bool = False) -> bool:
        """Whether a fix copies nothing but what variables are bound to, in the function of the write.

        ``lists``: or what is appended to lists.
        """
        assert self._module is not None
        module, function = self._module, self._function(finding)
        values = [
            assign.value
            for assign in module.of(cst.Assign)
            if module.around(assign, cst.FunctionDef) is function and binds_variables(assign)
            if not isinstance(assign.value, (cst.List, cst.Dict, cst.BaseComp))
        ]
        calls = [call for call in module.of(cst.Call) if lists and last_name(call.func) in GATHER and call.args]
        values += [call.args[-1].value for call in calls if module.around(call, cst.FunctionDef) is function]
        return all(
            any(module.start(value) <= edit.start <= module.end(value) for value in values) for edit in fix.edits
        )

    def _function(self, finding: Finding) -> cst.CSTNode | None:
        assert self._module is not None
        found = (node for node in self._module.of(cst.FunctionDef) if self._module.spans(node, finding.place))
        return max(found, key=self._module.start, default=None)

    def _written(self, finding: Finding) -> set[str]:
        """The variables that a write is spelled with."""
        assert self._module is not None
        targets = [target for _, target in writing_statements(self._module, finding.place)]
        return {self._module.code(root_of(viewed_root(target))) for target in targets}

    def _share(self, finding: Finding, other: Finding) -> bool:
        """Whether two writes went to the same memory."""
        one, two = (self._facts.writes.get(each.place) for each in (finding, other))
        return one is not None and two is not None and not one.memory.isdisjoint(two.memory)

    def _diverts(self, finding: Finding, edits: Sequence[Edit]) -> bool:
        """Whether a write goes to what others have, and with some edits to a copy that nobody has."""
        before, reads = self._facts.writes.get(finding.place), {other.place.line for other in finding.related}
        if before is None or not before.shared or RULES[finding.code].kind == "numpy":
            return False
        if any(edit.start.line in reads for edit in edits):
            return False  # it is read where it is copied: what others have is to stay as it was
        with observed(self._path) as facts:
            self._analysis(apply(self.text, edits))
        after = facts.writes.get(moved(finding.place, edits))
        return after is not None and not after.shared

    def _after(self, edits: Sequence[Edit]) -> Sequence[Finding] | None:
        """What is found after some edits, None where the text is no program any more, or read less far."""
        text = apply(self.text, edits)
        if text not in self._tried:
            if thread_time() > self._end:
                self.late = True
                return None
            try:
                self._tried[text] = self._analysis(text)
            except SyntaxError:
                self._tried[text] = None
        after = self._tried[text]
        return after.findings if after is not None and after.problem == self._problem else None


def _in_file(finding: Finding) -> Finding:
    """A finding without its places in other files, whose lines would be taken for lines of this one."""
    words, remedy = (
        tuple(str(part) if isinstance(part, Related) and part.path else part for part in parts)
        for parts in (finding.words, finding.remedy)
    )
    return replace(finding, words=words, remedy=remedy)


def _is_read_by_itself(module: Module, finding: Finding) -> bool:
    """Whether the read is a later write to the same variable: ``x *= a``, then ``x += b * x.flip(0)``.

    If the first write made a new tensor, the second one would read that: the values would still be wrong.
    """
    places, writes = {other.place for other in finding.related}, list(writing_statements(module, finding.place))
    for reader in (*module.of(cst.AugAssign), *module.of(cst.Call)):
        target = written_at(reader) if module.start(reader) in places else None
        statement = reader if isinstance(reader, cst.AugAssign) else statement_around(module, reader)
        if target is not None and all(statement is not one for one, _ in writes):
            return any(viewed_root(target).deep_equals(viewed_root(written)) for _, written in writes)
    return False
