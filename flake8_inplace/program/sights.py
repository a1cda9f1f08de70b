"""What was seen of the disk, and whether the disk still shows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

KIND, TEXT, COMPILED, IMPORTS = "kind", "text", "compiled", "imports"
"""What can be asked about a path.

- Whether a file or a folder stands there.
- What its text is: a digest, or why it cannot be had.
- Whether there is a compiled module of that name.
- Which Python files are below it, and what their import statements are: digests of both for each file.
"""
Sight = tuple[str, str, Any]
"""A question, a path, and the answer, which JSON can hold."""


@dataclass(slots=True, eq=False)
class Sights:
    """All that a process has seen of the disk, in order. What was seen again, unchanged, stands there once."""

    order: list[Sight] = field(default_factory=list)
    _latest: dict[tuple[str, str], Any] = field(default_factory=dict)

    def note(self, question: str, path: str, answer: Any) -> None:
        if (question, path) not in self._latest or self._latest[question, path] != answer:
            self._latest[question, path] = answer
            self.order.append((question, path, answer))


def digest(data: bytes | str) -> str:
    """What tells one content from all others. Of an unsaved text, that of the file if it is saved as UTF-8."""
    from hashlib import blake2b  # OpenSSL takes 3.5 MiB, and only a cache and unsaved texts need it

    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=16).hexdigest()
