"""TIP307 where a state is loaded: it aliases what it is to restore, or has what another module has by now."""

from __future__ import annotations

from collections.abc import Sequence

from ..heap.state import Declared, same_or_none
from ..heap.values import Object, Storage, Tensor, Value
from ..program.site import Site
from ..trace import events, holdings
from ..trace.log import Overwrite, since, since_in_memory
from ..trace.reports import Need
from ..trace.trace import Trace
from .sharers import note_sharers
from .snapshots import SHALLOW, Snapshot, Update, changes_of, may_be_copy, needs, snapshot_of, updates, updates_of

LOADED: Declared[Value, Snapshot | None] = Declared(same_or_none)
"""When a module was last given a state that is not its own, and where."""


@events.load_state_dict.listen
def on_load_state_dict(m: Trace, module: Value, states: Value, parameters: Sequence[Tensor], site: Site) -> None:
    """Report ``module.load_state_dict(states)`` if the states alias the parameters: nothing is restored.

    Neither does it give the module what another one had before that was given a state of its own.
    """
    memory = {tensor.storage.memory for tensor in parameters}
    taken = {tensor: snapshot_of(m, tensor) for tensor in holdings.held(m, states, set())}
    known = [(tensor, snapshot) for tensor, snapshot in taken.items() if snapshot is not None]
    own = [(tensor, each) for tensor, each in known if each.module is module or tensor.storage.memory in memory]
    others = [tensor for tensor, snapshot in taken.items() if snapshot is None]
    all_own = own == known and not others
    if _judge_own(m, own, memory) or (all_own and _judge_shallow(m, module, known)) or _judge_loaded(m, module, known):
        return
    if _judge_aliases(m, others, parameters) or _judge_copied(m, module, states, known):
        return
    for _, snapshot in known:
        note_sharers(m, module, snapshot.module)
    if not own and (parameters or not isinstance(module, Object)):  # what an optimizer had is not overwritten
        m.state.set(m.state[LOADED], module, Snapshot(module, site, m.tick()))


_Known = Sequence[tuple[Tensor, Snapshot]]


def _judge_own(m: Trace, own: _Known, memory: set[Storage]) -> bool:
    """Report the first change of a module since its own state was taken, which is all that is loaded."""
    for tensor, snapshot in own:
        stands_for_all = tensor.storage.memory not in memory
        every = updates(m) if stands_for_all else updates_of(m, tensor.storage.memory, snapshot.time)
        since_then = [update for update in every if update.time > snapshot.time]
        written = since(m, tensor, snapshot.time)
        if since_then or any(event.tensor is not tensor for event in written):
            places = _places(tensor, since_then, written) or ([] if written else [snapshot.site])
            for place in places[:1]:
                _refuse(m, place, snapshot, needs(m, tensor))
                return True
    return False


def _refuse(m: Trace, site: Site, snapshot: Snapshot, needs: tuple[Need, ...] = ()) -> None:
    """Report a change of a module. Where the use of the state is what changes it, the state was taken elsewhere."""
    here = m.here()
    if here is not None and here.expression is site.expression:
        m.refuse("own snapshot", site, other=snapshot.site, needs=needs)
    else:
        m.refuse("snapshot", site, needs=needs)


def _judge_aliases(m: Trace, tensors: Sequence[Tensor], parameters: Sequence[Tensor]) -> bool:
    """Report the first change of a parameter since ``p.data`` or ``p.detach()`` was kept of it, which is loaded."""
    for tensor in tensors:
        of_module = any(one.storage.memory is tensor.storage.memory for one in parameters if one is not tensor)
        if tensor.time and of_module and not may_be_copy(m, tensor):
            since_then = updates_of(m, tensor.storage.memory, tensor.time)
            for place in _places(tensor, since_then, since_in_memory(m, tensor, tensor.time))[:1]:
                m.refuse("snapshot", place, needs=needs(m, tensor))
                return True
    return False


def _places(tensor: Tensor, since_then: Sequence[Update], written: Sequence[Overwrite]) -> list[Site]:
    """Return where others than a tensor itself changed it: what is written by it is what it is to have."""
    through = [event.site.expression for event in written if event.tensor is tensor]
    places = [update.site for update in since_then if update.site is not None and update.site.expression not in through]
    return places + [event.site for event in written if event.tensor is not tensor]


def _judge_copied(m: Trace, module: Value, states: Value, known: _Known) -> bool:
    """Report the first change of a module since a shallow copy of its state was made, which another one is given.

    The state itself may be meant as the present one, which an actor gets from a learner. Who makes a dictionary of its
    entries wants to keep them.
    """
    for tensor, snapshot in known:
        if snapshot.module is not module and m.see(states) is not snapshot.result and not may_be_copy(m, tensor):
            for change in changes_of(m, tensor.storage.memory, snapshot.time):
                own = isinstance(change, Overwrite) and change.tensor is tensor
                if change.site is not None and not own:
                    m.refuse("snapshot", change.site)
                    return True
    return False


def _judge_shallow(m: Trace, module: Value, known: _Known) -> bool:
    """Report the last change of a module that is given the state of a shallow copy, or the other way round."""
    shared = max((m.state[SHALLOW].get(one, 0) for _, each in known for one in (module, each.module)), default=0)
    changes = [one.site for tensor, _ in known for one in changes_of(m, tensor.storage, shared)] if shared else []
    sites = [site for site in changes if site is not None]
    if sites:
        m.refuse("snapshot", sites[-1])
    return bool(sites)


def _judge_loaded(m: Trace, module: Value, known: _Known) -> bool:
    """Report that another module was given a state of its own after its state was taken, which ``module`` gets now."""
    for _, snapshot in known:
        before = m.state[LOADED].get(snapshot.module)
        if before is not None and before.time > snapshot.time and snapshot.module is not module:
            _refuse(m, before.site, snapshot)
            return True
    return False
