"""Who reads what a write overwrites, as the analysis saw it: who of them may be given a new tensor instead?"""

from __future__ import annotations

import libcst as cst

from ..finding import Finding
from ..hazards.refused import LEAF_KINDS
from ..rules import RULES
from .expected import is_lost_to_relation, renews_an_entry
from .facts import ELEMENT, ELEMENTS, ELSEWHERE, FROZEN, LEAF, OTHER_ELEMENT, Facts, tuple_way
from .scope import scope_around
from .syntax import Module, detours, dotted, is_parameter, is_path, last_name, root_of
from .taken import is_taken_out

_HOLDERS = ("tuple", "list", "dict", "object")


class Readers:
    """Who reads the memory of one overwriting place."""

    def __init__(self, module: Module, finding: Finding, facts: Facts, listed: str = "") -> None:
        self.module = module
        self.finding = finding
        self.facts = facts
        self.fact = facts.writes.get(finding.place)
        self.form = RULES[finding.code].kind
        self.listed = listed  # a variable with a tuple, which is to be made a list
        self.strict = True  # whether a stale value is the only one that a new tensor may leave as it was
        self.late = False  # whether a new tensor comes too late for the reader of a stale value
        self.made: set[str] = set()  # names that are bound to views of the new tensor, once there is one

    def can_rebind(self, root: cst.BaseExpression, statement: cst.CSTNode) -> bool:
        """Whether binding the name to a new tensor does for the rest of the program what the write did."""
        if self.late or not self.heard_by(root) or any(self.holds(root, kind) for kind in _HOLDERS):
            return False
        if isinstance(root, cst.Attribute):
            return self.can_rebind_attribute(root)
        return isinstance(root, cst.Name) and self.can_rebind_name(root, statement)

    def can_rebind_attribute(self, root: cst.Attribute) -> bool:
        if self.form in ("argument", "dataset") or (self.form == "ctx" and self.is_kept_for_backward(root)):
            return False  # the object belongs to the caller, the dataset or the next backward as well
        leaf = self.fact is not None and self.fact.leaf
        bound = not leaf and not self.holds(root.value, FROZEN)
        return is_path(root) and bound and not is_parameter(self.module, root.attr.value)

    def can_rebind_name(self, root: cst.Name, statement: cst.CSTNode) -> bool:
        scope = scope_around(self.module, statement)
        taken = self.form == "read" and is_taken_out(scope, root.value, statement, self.fact, self.stale_ways())
        if taken or not scope.binds(root.value) or scope.fills(root.value):
            return False
        looped = scope.iterates(root.value) and not (
            (self.form in ("views", "detach") and self.private(root))
            or (self.form == "discarded" and self.read_after(root, statement))
        )
        if looped or (self.form in LEAF_KINDS and scope.holds_parameter(root.value)):
            return False
        if self.holds(root, LEAF) and (self.form == "data" or (self.form in LEAF_KINDS and self.asked(root))):
            return False
        called = self.form != "read" or self.module.around(root, cst.FunctionDef) is not None
        if called and not (self.reached_by(root) or self.read_after(root, statement)):
            return False  # it was for the caller
        return self.form == "detach" or not self.part_of_another(root)

    @property
    def cuts(self) -> bool:
        """Whether a new tensor would be none of the graph, and the old one is."""
        return self.fact is not None and self.fact.cuts

    def heard_by(self, root: cst.BaseExpression) -> bool:
        """Whether a new tensor under this name reaches everybody who reads the old one later, as the analysis saw."""
        fact = self.fact
        if fact is None:
            return True
        way = ELEMENT if isinstance(root, cst.Subscript) else last_name(root)
        way = f".{way}" if isinstance(root, cst.Attribute) else way
        lost = fact.cuts and (fact.ways or fact.shared or not fact.discarded)  # or else nobody reads it
        if self.form == "read" and fact.given and isinstance(root, cst.Name) and self.read_outside():
            return False  # who called for the write, by a statement, has the tensor by another name
        if self.form == "read" and is_lost_to_relation(self.module, fact, way):
            return False
        if lost or (fact.part_of_leaf and not self.computes_with(root)):
            return False
        silent = RULES[self.finding.code].silent and not (self.form == "read" and self.strict)
        if silent or self.form in ("dirty", "saved"):
            return True  # that others see the write is what is wrong
        ways = (
            fact.ways
            - {tuple_way(self.listed)}
            - (self.stale_ways() if self.form in ("read", "expanded") else self.made)
        )
        return ways <= {way}

    def stale_ways(self) -> set[str]:
        """By which names, attributes and elements that is read which the finding calls stale: it is to stay so."""
        if self.form == "expanded":
            return {ELEMENTS}
        module, places = self.module, {related.place for related in self.finding.related}
        operations = [node for node in module.of(cst.BinaryOperation) if module.start(node) in places]
        operands = [operand for node in operations for operand in (node.left, node.right)]
        names = [node for node in module.of(cst.Name) if module.start(node) in places or node in operands]
        ways = {ELEMENT, ELEMENTS, OTHER_ELEMENT, *(node.value for node in names)}
        for node in module.of(cst.Attribute):
            if node in operands or not places.isdisjoint((module.start(node), module.start(node.attr))):
                ways.add(f".{last_name(node)}")
        return ways | {ELSEWHERE} if self.read_outside() else ways

    def read_outside(self) -> bool:
        """Whether the stale value is read outside of the function that overwrites it."""
        module, places = self.module, [related.place for related in self.finding.related]
        function = next((node for node in module.of(cst.FunctionDef) if module.spans(node, self.finding.place)), None)
        return function is not None and not all(module.spans(function, place) for place in places)

    def initialises(self, target: cst.BaseExpression) -> bool:
        """Whether a leaf is given numbers and then not computed with here, or its own gradient is asked for."""
        fact = self.fact
        if fact is None or not (fact.leaf or fact.part_of_leaf) or fact.cuts:
            return False
        root = root_of(target)
        if self.asked(root) and not fact.carries:
            return True
        return not self.computes_with(root) and fact.numbers

    def asked(self, root: cst.BaseExpression) -> bool:
        """Whether somebody reads the gradient of a tensor: one that is computed has none."""
        return any(node.attr.value == "grad" and node.value.deep_equals(root) for node in self.module.of(cst.Attribute))

    def computes_with(self, root: cst.BaseExpression) -> bool:
        scope = scope_around(self.module, root)
        return not isinstance(root, cst.Name) or scope.computes_with(root.value, self.finding.line)

    def holds(self, root: cst.BaseExpression, kind: str) -> bool:
        """Whether the analysis saw a variable hold something of a kind."""
        return self.fact is not None and kind in self.fact.kinds.get(dotted(root), ())

    def part_of_another(self, root: cst.Name) -> bool:
        """Whether a variable is a view of another that is read later: the write was meant to reach that one."""
        fact = self.fact
        if fact is None or root.value not in fact.views:
            return False
        others = fact.names - {root.value} - self.made - (self.stale_ways() if self.form == "read" else set())
        return not others.isdisjoint(fact.ways)

    def is_kept_for_backward(self, attribute: cst.Attribute) -> bool:
        """Whether an attribute is one of the context of a custom function: the next backward reads it there."""
        function = self.module.around(attribute, cst.FunctionDef)
        first = function.params.params[:1] if function is not None else ()
        return any(isinstance(attribute.value, cst.Name) and attribute.value.value == each.name.value for each in first)

    def is_array(self, root: cst.BaseExpression, target: cst.BaseExpression) -> bool:
        """Whether the root of what is written is a numpy array, which has no `clone`."""
        kinds = self.fact.kinds.get(dotted(root), set()) if self.fact is not None else set()
        if {"array", "tensor"} <= kinds:  # an unknown argument may be a tensor, but the finding is about the array
            return "copy()" in self.finding.help
        if kinds and "" not in kinds:
            return kinds == {"array"}
        return self.form == "numpy" or (self.fact is not None and self.fact.form == "numpy" and not detours(target))

    def subscripted_list(self, root: cst.BaseExpression) -> bool:
        """``rows[i]`` or ``cache["h"]``: if the container is a tensor after all, the second analysis says so."""
        if not isinstance(root, cst.Subscript) or not is_path(root.value) or self.cuts:
            return False
        if self.late or self.holds(root.value, "tensor"):
            return False  # its elements lie in the memory that is not to be written
        if self.form == "read" and self.fact is not None and not renews_an_entry(self.fact, self.read_outside()):
            return False
        if self.form in ("argument", "dataset"):
            return False  # the container belongs to the caller, or the dataset, as well
        return bool(self.listed) or not self.holds(root.value, "tuple")

    def read_after(self, root: cst.BaseExpression, statement: cst.CSTNode) -> bool:
        return not isinstance(root, cst.Name) or scope_around(self.module, statement).read_after(root.value, statement)

    def read_beside(self, root: cst.Name, call: cst.Call, statement: cst.BaseSmallStatement) -> bool:
        """Whether a name is read in the same statement, outside of the call that overwrites it."""
        module, start = self.module, self.module.start
        return any(
            start(statement) <= start(use) < module.end(statement) and not start(call) <= start(use) < module.end(call)
            for use in scope_around(self.module, statement).uses(root.value)
        )

    def read_again(self, root: cst.Name, call: cst.Call, statement: cst.BaseSmallStatement) -> bool:
        beside = self.form != "read" and self.read_beside(root, call, statement)  # or else that is what is stale
        return beside or self.read_after(root, statement)

    def keeps_type(self, name: cst.CSTNode) -> bool:
        """Whether a write leaves the type of what it overwrites, written out of place as well."""
        fact = self.facts.writes.get(self.module.start(name))
        return fact is not None and fact.same_type

    def private(self, root: cst.BaseExpression) -> bool:
        """Whether nobody else can read what is written; the variables of a module are anybody's."""
        return self.reached_by(root) and self.module.around(root, cst.FunctionDef) is not None

    def reached_by(self, root: cst.BaseExpression) -> bool:
        """Whether what is written was computed here, and is reached by this name alone, or by none."""
        names = {root.value} if isinstance(root, cst.Name) else set[str]()
        return self.fact is not None and not self.fact.shared and self.fact.names <= names
