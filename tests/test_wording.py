"""How the text of a write names what it overwrites."""

import libcst as cst
import pytest

from flake8_inplace.program import wording


@pytest.mark.parametrize(
    ("text", "attribute"),
    [
        ("self.h.add_(1)", "h"),
        ("self.h[0].mul_(2).add_(1)", "h"),
        ("h.add_(1)", ""),
        ("torch.nn.init.ones_(self.h)", "h"),
        ("init.ones_(self.h[0])", "h"),
        ("torch.nn.init.ones_(h)", ""),
    ],
)
def test_a_write_is_spelled_with_an_attribute(text: str, attribute: str) -> None:
    """The functions of a module write to an argument: ``init`` is no attribute that holds a tensor."""
    written = wording.written_attribute(cst.parse_expression(text), lambda name: name in ("torch", "init"))
    assert written == attribute
