"""What the adapters' tests share: a toolkit with one tool of each kind, and a person who answers by script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtoolkit import FunctionTool, Toolkit
from nbtoolkit.message import Base64Source, DataBlock, TextBlock
from nbtoolkit.permission import Approval
from nbtoolkit.tool import ToolChunk

if TYPE_CHECKING:
    from nbtoolkit.permission import ApprovalRequest

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="


def add(a: int, b: int = 1) -> int:
    """Add.

    Args:
        a: One number.
        b: Another.
    """
    return a + b


def plot() -> ToolChunk:
    """Draw."""
    picture = DataBlock(source=Base64Source(data=PNG, media_type="image/png"), name="bars")
    return ToolChunk(content=[TextBlock(text="two bars"), picture])


def fail() -> str:
    """Break."""
    raise ValueError("broken")


def delete(path: str) -> str:
    """Delete."""
    return f"deleted {path}"


class Person:
    """Answers what is asked, in order, and remembers the questions."""

    def __init__(self, *answers: Approval) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def __call__(self, request: ApprovalRequest) -> Approval:
        self.asked.append((request.tool.name, request.tool_input))
        return self.answers.pop(0) if self.answers else Approval.deny("no answer left")


def a_toolkit(*answers: Approval) -> tuple[Toolkit, Person]:
    """A toolkit where ``add``, ``plot`` and ``fail`` only read and ``delete`` asks."""
    toolkit = Toolkit([FunctionTool(each, is_read_only=True) for each in (add, plot, fail)])
    toolkit.add_tool_sync(FunctionTool(delete))
    person = Person(*answers)
    toolkit.approver = person
    return toolkit, person
