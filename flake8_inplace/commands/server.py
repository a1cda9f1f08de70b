"""``flake8-inplace server``: findings and quick fixes in editors, by the Language Server Protocol."""

from __future__ import annotations

import argparse
import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from time import thread_time
from typing import Any

from lsprotocol import types as lsp
from pygls import uris
from pygls.lsp.server import LanguageServer

from .. import __version__
from ..checker import Checker, findings, memory, program, trial, unreadable
from ..checker import path_of as followed
from ..files import Project, Source, UsageError, cell_lines, joined
from ..finding import Edit, Finding, Fix, Place
from ..fix import Repair, mend
from ..formats import TOOL
from ..report import Entry, Spot, entries
from ..rule import PAGES
from ..trace.budget import SECONDS, Cancelled, Waiting
from .common import add_no_cache, project
from .configuration import configured
from .noqa import commented

PAUSE = 0.2
"""How long, in seconds, a text has to stay as it is before it is analysed."""
STACK = 256 * 1024 * 1024
"""The stack of the thread that analyses, in bytes: programs may be nested deeply."""
Offers = dict[tuple[str, int], list[Fix]]
"""The fixes of each finding, by code and line."""


def main(arguments: Sequence[str]) -> int:
    """Serve one editor on standard input and output."""
    parser = argparse.ArgumentParser(
        "flake8-inplace server", description="Serve an editor by the language server protocol."
    )
    add_no_cache(parser)
    given = parser.parse_args(arguments)
    Service(caches=not given.no_cache).server.start_io()
    return 0


class Service:
    """The server, and the documents that are open in the editor.

    One thread analyses, one text after the other. A text that changes meanwhile cancels its analysis.
    """

    def __init__(self, caches: bool = True) -> None:
        self.caches = caches
        cells = lsp.NotebookCellLanguage(language="python")
        notebooks = lsp.NotebookDocumentFilterWithCells(notebook="jupyter-notebook", cells=[cells])
        synchronized = lsp.NotebookDocumentSyncOptions(notebook_selector=[notebooks])
        self.server: Any = LanguageServer(TOOL, __version__, notebook_document_sync=synchronized)
        self.latest: dict[str, object] = {}  # a token for the newest text of each open file and notebook
        self.cells: dict[str, tuple[str, ...]] = {}  # the code cells of each open notebook
        threading.stack_size(STACK)
        self.worker = ThreadPoolExecutor(1)
        self.register(lsp.INITIALIZED, self.initialized)
        self.register(lsp.TEXT_DOCUMENT_DID_OPEN, self.changed)
        self.register(lsp.TEXT_DOCUMENT_DID_CHANGE, self.changed)
        self.register(lsp.TEXT_DOCUMENT_DID_SAVE, self.changed)
        self.register(lsp.TEXT_DOCUMENT_DID_CLOSE, self.closed)
        self.register(lsp.NOTEBOOK_DOCUMENT_DID_OPEN, self.notebook_changed)
        self.register(lsp.NOTEBOOK_DOCUMENT_DID_CHANGE, self.notebook_changed)
        self.register(lsp.NOTEBOOK_DOCUMENT_DID_CLOSE, self.notebook_closed)
        kinds = [lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.SourceFixAll]
        self.register(lsp.TEXT_DOCUMENT_CODE_ACTION, self.actions, lsp.CodeActionOptions(code_action_kinds=kinds))

    def register(self, name: str, method: Callable[[Any], Awaitable[Any]], options: Any = None) -> None:
        """Let a method answer a message of the editor. The library wants functions."""

        async def answer(params: Any) -> Any:
            return await method(params)

        self.server.feature(name, options)(answer)

    # What the editor says

    async def initialized(self, params: lsp.InitializedParams) -> None:
        """Work in the folder of the editor: configuration and paths are relative to it."""
        if self.server.workspace.root_path:
            os.chdir(self.server.workspace.root_path)

    async def changed(self, params: Any) -> None:
        await self.examined(params.text_document.uri)

    async def notebook_changed(self, params: Any) -> None:
        await self.examined(params.notebook_document.uri)

    async def examined(self, changed: str) -> None:
        """Analyse what was opened or changed, and then the other open files, which may import it."""
        self.latest[changed] = object()
        token = self.latest[changed]
        await asyncio.sleep(PAUSE)
        if self.latest.get(changed) is not token:
            return
        others = [uri for uri in self.latest if uri != changed]
        for uri in (changed, *others):
            await self.diagnose(uri)

    async def closed(self, params: lsp.DidCloseTextDocumentParams) -> None:
        """Forget a document: the file on disk counts again."""
        uri = params.text_document.uri
        self.latest.pop(uri, None)
        self.publish(uri, [])
        await self.in_worker(partial(override, path_of(uri), None))

    async def notebook_closed(self, params: lsp.DidCloseNotebookDocumentParams) -> None:
        uri = params.notebook_document.uri
        self.latest.pop(uri, None)
        for cell in self.cells.pop(uri, ()):
            self.publish(cell, [])

    async def diagnose(self, uri: str) -> None:
        token = self.latest.get(uri)
        document = self.document(uri)
        waiting = partial(self.is_waited_for, uri, token)
        try:
            found = await self.in_worker(partial(examine, document, waiting, self.caches))
        except UsageError as error:
            self.server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, str(error)))
            return
        if found is None or not waiting():
            return
        gone = set(self.cells.get(uri, ())) - set(document.cells)
        if document.cells or gone:
            self.cells[uri] = document.cells
        diagnostics: dict[str, list[lsp.Diagnostic]] = {address: [] for address in (*gone, *document.addresses)}
        for entry in found:
            diagnostics[document.address(entry.at.cell)].append(self.diagnostic(document, entry))
        for address, listed in diagnostics.items():
            self.publish(address, listed)

    def document(self, uri: str) -> Document:
        """Return what is open under the address of a file, of a notebook, or of a cell."""
        workspace = self.server.workspace
        notebook = workspace.get_notebook_document(notebook_uri=uri) or workspace.get_notebook_document(cell_uri=uri)
        if notebook is None:
            return Document(uri, Source(path_of(uri), workspace.get_text_document(uri).source))
        cells = tuple(cell.document for cell in notebook.cells if cell.kind == lsp.NotebookCellKind.Code)
        texts = tuple(workspace.get_text_document(cell).source for cell in cells)
        return Document(notebook.uri, joined(path_of(notebook.uri), texts), cells, texts)

    def is_waited_for(self, uri: str, token: object) -> bool:
        return self.latest.get(uri) is token

    async def in_worker(self, work: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self.worker, work)

    def publish(self, uri: str, found: list[lsp.Diagnostic]) -> None:
        self.server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri=uri, diagnostics=found))

    # Diagnostics

    def diagnostic(self, document: Document, entry: Entry) -> lsp.Diagnostic:
        """Return a finding as the protocol has it, with its other places and the page of its rule."""
        page = PAGES / f"{entry.code}.md"
        return lsp.Diagnostic(
            range=self.span(entry.at),
            message="\n".join(filter(None, (entry.message, entry.note, entry.help))),
            severity=lsp.DiagnosticSeverity.Error if entry.level == "error" else lsp.DiagnosticSeverity.Warning,
            code=entry.code,
            code_description=lsp.CodeDescription(href=page.as_uri()) if page.exists() else None,
            source=TOOL,
            related_information=[
                lsp.DiagnosticRelatedInformation(
                    location=lsp.Location(uri=self.address(spot, document), range=self.span(spot)),
                    message=spot.note,
                )
                for spot in entry.related
            ],
        )

    def address(self, spot: Spot, document: Document) -> str:
        return str(uris.from_fs_path(os.path.abspath(spot.path))) if spot.path else document.address(spot.cell)

    def span(self, spot: Spot) -> lsp.Range:
        begin, end = (self.position(spot.line, spot.text[: column - 1]) for column in (spot.column, spot.end))
        return lsp.Range(start=begin, end=end)

    def position(self, line: int, before: str) -> lsp.Position:
        """Return the position after some text of a line, in the units of the editor."""
        units = self.server.workspace.position_codec.client_num_units(before)
        return lsp.Position(line=line - 1, character=units)

    # Code actions

    async def actions(self, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        """Return what to do about the diagnostics at a place; all safe fixes if the editor asks for those."""
        uri = params.text_document.uri
        document = self.document(uri)
        only = params.context.only or []
        if lsp.CodeActionKind.SourceFixAll in only:
            return [] if document.cells else await self.fix_all(uri, document.source)
        asked = [diagnostic for diagnostic in params.context.diagnostics if diagnostic.source == TOOL]
        if not asked or (only and lsp.CodeActionKind.QuickFix not in only):
            return []
        places = {(str(diagnostic.code), diagnostic.range.start.line + 1) for diagnostic in asked}
        offers = await self.in_worker(partial(proposed, document.source, places if not document.cells else ()))
        return [action for diagnostic in asked for action in self.quick_fixes(uri, document, diagnostic, offers)]

    async def fix_all(self, uri: str, source: Source) -> list[lsp.CodeAction]:
        after = await self.in_worker(partial(all_fixed, source, self.caches))
        if after == source.text:
            return []
        begin, end = lsp.Position(line=0, character=0), lsp.Position(line=len(source.lines), character=0)
        edit = lsp.TextEdit(range=lsp.Range(start=begin, end=end), new_text=after)
        return [self.action(uri, "Fix all that is safe to fix", [edit], lsp.CodeActionKind.SourceFixAll)]

    def quick_fixes(
        self, uri: str, document: Document, diagnostic: lsp.Diagnostic, offers: Offers
    ) -> Iterator[lsp.CodeAction]:
        """Yield the fixes of one finding, the safe one preferred, and the comment that silences it."""
        lines, number = document.lines(uri), diagnostic.range.start.line
        first = document.first(uri)
        quick = partial(self.action, uri, kind=lsp.CodeActionKind.QuickFix, diagnostics=[diagnostic])
        for fix in offers.get((str(diagnostic.code), first + number + 1), ()):
            edits = [moved(edit, -first) for edit in fix.edits]
            if document.holds(uri, edits):
                title = fix.title if fix.safe else f"{fix.title} (unsafe)"
                yield quick(title, [self.edit(lines, edit) for edit in edits], preferred=fix.safe)
        if number < len(lines):
            line = lines[number].rstrip("\n")
            whole = Edit(Place(number + 1, 0), Place(number + 1, len(line)), commented(line, [str(diagnostic.code)]))
            yield quick(f"Silence {diagnostic.code} here with a noqa comment", [self.edit(lines, whole)])

    def action(
        self,
        uri: str,
        title: str,
        edits: list[lsp.TextEdit],
        kind: lsp.CodeActionKind,
        diagnostics: list[lsp.Diagnostic] | None = None,
        preferred: bool = False,
    ) -> lsp.CodeAction:
        edit = lsp.WorkspaceEdit(changes={uri: edits})
        return lsp.CodeAction(title, kind=kind, diagnostics=diagnostics, is_preferred=preferred, edit=edit)

    def edit(self, lines: Sequence[str], edit: Edit) -> lsp.TextEdit:
        start, end = (
            self.position(place.line, lines[place.line - 1][: place.column] if place.line <= len(lines) else "")
            for place in (edit.start, edit.end)
        )
        return lsp.TextEdit(range=lsp.Range(start=start, end=end), new_text=edit.text)


@dataclass(frozen=True, slots=True)
class Document:
    """What is open in the editor: a file, or a notebook with the addresses and the texts of its code cells."""

    uri: str
    source: Source
    cells: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()

    @property
    def addresses(self) -> tuple[str, ...]:
        """What diagnostics are shown in."""
        return self.cells or (self.uri,)

    def address(self, cell: int | None) -> str:
        return self.uri if cell is None else self.cells[cell - 1]

    def lines(self, uri: str) -> list[str]:
        """Return the lines of the file or of a cell, as the editor has them."""
        return cell_lines(self.texts[self.cells.index(uri)]) if uri in self.cells else self.source.lines

    def first(self, uri: str) -> int:
        """Return how many lines of the program stand before the file or the cell."""
        if uri not in self.cells:
            return 0
        return sum(len(cell_lines(text)) for text in self.texts[: self.cells.index(uri)])

    def holds(self, uri: str, edits: Sequence[Edit]) -> bool:
        """Whether edits change only lines of the cell that are in the editor as the program has them: no magics."""
        if uri not in self.cells:
            return True
        lines, first = self.lines(uri), self.first(uri)
        seen = self.source.lines[first : first + len(lines)]
        rows = {row for edit in edits for row in range(edit.start.line, edit.end.line + 1)}
        inside = all(0 < row <= len(lines) + 1 for row in rows)
        return inside and all(lines[row - 1 : row] == seen[row - 1 : row] for row in rows)


def moved(edit: Edit, lines: int) -> Edit:
    start, end = (replace(place, line=place.line + lines) for place in (edit.start, edit.end))
    return replace(edit, start=start, end=end)


def path_of(uri: str) -> str:
    return str(uris.to_fs_path(uri) or "")


# In the worker


def examine(document: Document, waiting: Callable[[], bool], caches: bool) -> list[Entry] | None:
    """Return what counts in a text, which stands for its file; None if nobody waits for that any more."""
    Waiting.over = staticmethod(lambda: not waiting())  # type: ignore[method-assign]
    source = document.source
    try:
        files = opened(caches)
        if document.cells:
            found = [*(unreadable(place, why) for place, why in source.problems), *findings(source.text)]
        else:
            override(source.path, source.text)
            found = list(findings(source.text, None, source.path))
        chosen = list(compress(found, files.counts(source, found)))
        return entries(source.path, source.text, chosen, source.origins)
    except Cancelled:
        return None
    finally:
        Waiting.over = staticmethod(lambda: False)  # type: ignore[method-assign]


def opened(caches: bool) -> Project:
    """Return the configuration of the folder that the editor works in. Raises UsageError."""
    return project((*configured(()), "--", "."), caches)


def override(path: str, text: str | None) -> None:
    """Let the text of the editor stand for a file."""
    Checker.latest = None
    if Checker.settings.cache:
        memory(Checker.settings).look_again()
    if Checker.settings.follow is not None:
        program(Checker.settings).override(path, text)


def proposed(source: Source, asked: Collection[tuple[str, int]]) -> Offers:
    """Return the fixes of each finding in a text: the best one, and the best safe one.

    The file is analysed with those that it hangs on if one of the findings that are ``asked`` for needs that.
    """
    offers: Offers = {}
    end = thread_time() + SECONDS
    offer(offers, Repair(source.text, end=end))
    if followed(source.path) and not offers.keys() >= set(asked):
        with trial(source.path) as tried:
            offer(offers, Repair(source.text, *tried, end=end))
    return offers


def offer(offers: Offers, repair: Repair) -> None:
    """Add the fixes of findings for which there are none yet."""
    found: Offers = {}
    for finding in repair.found:
        if (finding.code, finding.line) not in offers:
            both = (repair.propose(finding, only_safe=True), repair.propose(finding))
            fixes = found.setdefault((finding.code, finding.line), [])
            fixes.extend(dict.fromkeys(fix for fix in both if fix is not None))
    offers.update(found)


def all_fixed(source: Source, caches: bool) -> str:
    """Return a text with all safe fixes made."""
    files = opened(caches)

    def wanted(text: str, found: Sequence[Finding]) -> list[bool]:
        return files.counts(replace(source, text=text), found)

    return mend(source.text, wanted, unsafe=False).text
