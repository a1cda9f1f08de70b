"""``flake8-inplace server``: findings and quick fixes in editors, by the Language Server Protocol."""

from __future__ import annotations

import argparse
import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import compress
from typing import Any

from lsprotocol import types as lsp
from pygls import uris
from pygls.lsp.server import LanguageServer

from .. import __version__
from ..checker import Checker, findings, program
from ..files import Project, Source, UsageError, split_lines
from ..finding import Edit, Finding, Fix, Place
from ..fix import Repair, mend
from ..report import TOOL, Entry, Spot, entries
from ..rule import PAGES
from ..trace.budget import Cancelled, Waiting
from .common import project
from .configuration import configured
from .noqa import commented

PAUSE = 0.2
"""How long, in seconds, a text has to stay as it is before it is analysed."""
STACK = 256 * 1024 * 1024
"""The stack of the thread that analyses, in bytes: programs may be nested deeply."""


def main(arguments: Sequence[str]) -> int:
    """Serve one editor on standard input and output."""
    parser = argparse.ArgumentParser(
        "flake8-inplace server", description="Serve an editor by the language server protocol."
    )
    parser.parse_args(arguments)
    Service().server.start_io()
    return 0


class Service:
    """The server, and the documents that are open in the editor.

    One thread analyses, one text after the other. A text that changes meanwhile cancels its analysis.
    """

    def __init__(self) -> None:
        self.server: Any = LanguageServer(TOOL, __version__)
        self.latest: dict[str, object] = {}  # a token for the newest text of each open document
        threading.stack_size(STACK)
        self.worker = ThreadPoolExecutor(1)
        self.register(lsp.INITIALIZED, self.initialized)
        self.register(lsp.TEXT_DOCUMENT_DID_OPEN, self.changed)
        self.register(lsp.TEXT_DOCUMENT_DID_CHANGE, self.changed)
        self.register(lsp.TEXT_DOCUMENT_DID_SAVE, self.changed)
        self.register(lsp.TEXT_DOCUMENT_DID_CLOSE, self.closed)
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
        """Analyse a text that was opened or changed, and then the other open ones, which may import it."""
        changed = params.text_document.uri
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

    async def diagnose(self, uri: str) -> None:
        token = self.latest.get(uri)
        text = self.server.workspace.get_text_document(uri).source
        waiting = partial(self.is_waited_for, uri, token)
        try:
            found = await self.in_worker(partial(examine, path_of(uri), text, waiting))
        except UsageError as error:
            self.server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, str(error)))
            return
        if found is not None and waiting():
            self.publish(uri, [self.diagnostic(uri, entry) for entry in found])

    def is_waited_for(self, uri: str, token: object) -> bool:
        return self.latest.get(uri) is token

    async def in_worker(self, work: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self.worker, work)

    def publish(self, uri: str, found: list[lsp.Diagnostic]) -> None:
        self.server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri=uri, diagnostics=found))

    # Diagnostics

    def diagnostic(self, uri: str, entry: Entry) -> lsp.Diagnostic:
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
                    location=lsp.Location(uri=self.address(spot.path) if spot.path else uri, range=self.span(spot)),
                    message=spot.note,
                )
                for spot in entry.related
            ],
        )

    def address(self, path: str) -> str:
        return str(uris.from_fs_path(os.path.abspath(path)))

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
        text = self.server.workspace.get_text_document(uri).source
        only = params.context.only or []
        if lsp.CodeActionKind.SourceFixAll in only:
            return list(self.fix_all(uri, text, await self.in_worker(partial(all_fixed, path_of(uri), text))))
        asked = [diagnostic for diagnostic in params.context.diagnostics if diagnostic.source == TOOL]
        if not asked or (only and lsp.CodeActionKind.QuickFix not in only):
            return []
        offers = await self.in_worker(partial(proposed, text))
        return [action for diagnostic in asked for action in self.quick_fixes(uri, text, diagnostic, offers)]

    def fix_all(self, uri: str, text: str, after: str) -> Iterator[lsp.CodeAction]:
        if after != text:
            lines = split_lines(text)
            end = lsp.Position(line=len(lines), character=0)
            edit = lsp.TextEdit(range=lsp.Range(start=lsp.Position(line=0, character=0), end=end), new_text=after)
            yield self.action(uri, "Fix all that is safe to fix", [edit], lsp.CodeActionKind.SourceFixAll)

    def quick_fixes(
        self, uri: str, text: str, diagnostic: lsp.Diagnostic, offers: dict[tuple[str, int], list[Fix]]
    ) -> Iterator[lsp.CodeAction]:
        """Yield the fixes of one finding, the safe one preferred, and the comment that silences it."""
        lines, number = split_lines(text), diagnostic.range.start.line
        quick = partial(self.action, uri, kind=lsp.CodeActionKind.QuickFix, diagnostics=[diagnostic])
        for fix in offers.get((str(diagnostic.code), number + 1), ()):
            edits = [self.edit(lines, edit) for edit in fix.edits]
            yield quick(fix.title if fix.safe else f"{fix.title} (unsafe)", edits, preferred=fix.safe)
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


def path_of(uri: str) -> str:
    return str(uris.to_fs_path(uri) or "")


# In the worker


def examine(path: str, text: str, waiting: Any) -> list[Entry] | None:
    """Return what counts in a text, which stands for its file; None if nobody waits for that any more."""
    Waiting.over = staticmethod(lambda: not waiting())  # type: ignore[method-assign]
    try:
        files = opened()
        override(path, text)
        found = findings(text, None, path)
        chosen = list(compress(found, files.counts(Source(path, text), found)))
        return entries(path, text, chosen)
    except Cancelled:
        return None
    finally:
        Waiting.over = staticmethod(lambda: False)  # type: ignore[method-assign]


def opened() -> Project:
    """Return the configuration of the folder that the editor works in. Raises UsageError."""
    return project((*configured(()), "--", "."))


def override(path: str, text: str | None) -> None:
    """Let the text of the editor stand for a file."""
    Checker.latest = None
    if Checker.settings.follow is not None:
        program(Checker.settings).override(path, text)


def proposed(text: str) -> dict[tuple[str, int], list[Fix]]:
    """Return the fixes of each finding in a text, by code and line: the best one, and the best safe one."""
    repair = Repair(text)
    found: dict[tuple[str, int], list[Fix]] = {}
    for finding in repair.found:
        both = (repair.propose(finding, only_safe=True), repair.propose(finding))
        found.setdefault((finding.code, finding.line), []).extend(dict.fromkeys(fix for fix in both if fix is not None))
    return found


def all_fixed(path: str, text: str) -> str:
    """Return a text with all safe fixes made."""
    files = opened()

    def wanted(text: str, found: Sequence[Finding]) -> list[bool]:
        return files.counts(Source(path, text), found)

    return mend(text, wanted, unsafe=False).text
