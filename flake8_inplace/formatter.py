"""``flake8 --format=inplace-sarif``: plain flake8 with a SARIF report."""

from __future__ import annotations

from flake8.formatting.base import BaseFormatter
from flake8.processor import FileProcessor
from flake8.violation import Violation

from .checker import findings
from .finding import Finding, Place
from .formats import sarif
from .report import entries


class SarifFormatter(BaseFormatter):
    """Collects what flake8 reports, of all plugins, and writes one document at the end.

    flake8 hands on a line and a text. Where the tensor was saved is found by reading the file once more.
    """

    def after_init(self) -> None:
        """Begin with nothing."""
        self.rows: dict[str, list[Violation]] = {}

    def start(self) -> None:
        """Begin the output file anew: flake8 itself appends to it, which makes no JSON."""
        if self.filename:
            open(self.filename, "w").close()
        super().start()

    def handle(self, error: Violation) -> None:
        """Keep one violation."""
        self.rows.setdefault(error.filename, []).append(error)

    def stop(self) -> None:
        """Write the document."""
        found = []
        for path, errors in self.rows.items():
            text = self.text(path)
            known = {(finding.code, finding.place): finding for finding in findings(text)}
            kept = []
            for error in errors:
                place = Place(error.line_number, error.column_number - 1)
                kept.append(known.get((error.code, place)) or Finding(error.code, place, (error.text,)))
            found += entries(path, text, kept)
        self._write(sarif(found, tool="flake8").rstrip("\n"))
        super().stop()

    def text(self, path: str) -> str:
        """The file as flake8 reads it, or nothing: standard input cannot be read again."""
        try:
            return "".join(FileProcessor(path, self.options).lines)
        except OSError:
            return ""
