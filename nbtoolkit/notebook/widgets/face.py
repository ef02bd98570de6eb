"""The markup of a card: what will happen, who asks, why, the body in the room of a few lines, a server's claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook.text import one_line, visible
from nbtoolkit.notebook.why import meta, reasons
from nbtoolkit.unseen import unseen

if TYPE_CHECKING:
    from nbtoolkit.notebook.title import Title
    from nbtoolkit.notebook.widgets.bodies import Body
    from nbtoolkit.permission.approval import ApprovalRequest

__all__ = ["claims", "clipped", "head", "item_head", "why"]

# Out of sight, and gone when it is answered.
HEARD = '<span class="nbtk-heard">A call waits for your answer: </span>'
# An item of a tray shows so many lines of its body; the rest is one click away.
ITEM_LINES = 8


def _code(text: str) -> str:
    return f"<code>{visible(text)}</code>"


def head(request: ApprovalRequest, line: Title) -> str:
    """What will happen, and who asks; a screen reader says it when it comes."""
    heading = f'<div role="heading" aria-level="4" class="nbtk-title">{_code(line.tool)}{line.html(_code)}</div>'
    return f'<div role="alert">{HEARD}{heading}</div><div class="nbtk-meta">{meta(request)}</div>'


def item_head(request: ApprovalRequest, line: Title, shown: Body, number: int) -> str:
    """One line that opens to who asks and why, step by step."""
    because, steps = reasons(request)
    what = f'<b role="heading" aria-level="5">{number}. {_code(line.tool)}{line.html(_code)}</b>'
    summary = (
        f'<summary>{what} <span class="nbtk-soft">· asks: {because}{_not_remembered(request, shown)}</span></summary>'
    )
    listed = "".join(f"<li>{step}</li>" for step in steps)
    inner = f'<div class="nbtk-meta">{meta(request)}</div>{claims(request)}<ol class="nbtk-soft">{listed}</ol>'
    return f'<details class="nbtk-what">{summary}{inner}</details>'


def clipped(shown: Body) -> str:
    """A body in the room of a few lines, all of it one click away."""
    if shown.lines <= ITEM_LINES:
        return shown.markup
    return (
        f'<div class="nbtk-clip">{shown.markup}</div>'
        '<details class="nbtk-unclip"><summary><span>All of it</span><span>Less</span></summary></details>'
    )


def _not_remembered(request: ApprovalRequest, shown: Body) -> str:
    if request.decision.bypass_immune:
        return ""
    if shown.cut:
        return "; a part of it is too long to be shown, so “Always allow” isn't offered"
    if any(unseen().search(str(rule)) for rule in request.suggested_rules):
        return "; a rule for it would hold characters that can't be seen, so “Always allow” isn't offered"
    return ""


def why(request: ApprovalRequest, shown: Body) -> str:
    """Why it asks, with the engine's steps one click away."""
    because, steps = reasons(request)
    because += _not_remembered(request, shown)
    listed = "".join(f"<li>{step}</li>" for step in steps)
    if not listed:
        return f'<div class="nbtk-why"><b>Asks</b> because {because}.</div>'
    return (
        f'<details class="nbtk-why"><summary><b>Asks</b> because {because}. <span class="nbtk-link">Why</span></summary>'
        f'<ol class="nbtk-soft">{listed}</ol></details>'
    )


# A hint's two sides, in the order of the sentence.
_CLAIMS = (
    ("readOnlyHint", "only reads", "changes things"),
    ("destructiveHint", "may destroy", "doesn't destroy"),
    ("idempotentHint", "repeating it changes nothing more", "repeating it adds again"),
    ("openWorldHint", "reaches the internet", "stays inside its own world"),
)


def claims(request: ApprovalRequest) -> str:
    """What an MCP server says of its tool, which nobody checked."""
    tool = request.tool
    if not getattr(tool, "is_mcp", False):
        return ""
    hints: Any = getattr(tool, "annotations", None)
    if hasattr(hints, "model_dump"):
        hints = hints.model_dump(by_alias=True)
    if not isinstance(hints, dict):
        hints = {}
    said = [yes if hints[key] else no for key, yes, no in _CLAIMS if isinstance(hints.get(key), bool)]
    claimed = (
        "The server claims, unchecked: " + " · ".join(said) if said else "The server claims nothing about what it does."
    )
    words = one_line(getattr(tool, "description", "") or "", 400)
    described = f'<div class="nbtk-note">It describes the tool: “{visible(words)}”</div>' if words else ""
    return f'{described}<div class="nbtk-note">{claimed}</div>'
