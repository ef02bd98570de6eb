"""Who asks, and why it asks: the sentences of a card, and the explanation of a decision.

Every word that a model or a server wrote is quoted as its claim.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.getipython import get_ipython

from nbtoolkit.notebook.tables import how
from nbtoolkit.notebook.text import one_line, settled, visible
from nbtoolkit.notebook.title import Title, split_name, title
from nbtoolkit.permission.rule import PermissionBehavior
from nbtoolkit.permission.subject import Effect
from nbtoolkit.redact import redacted
from nbtoolkit.schema.variables import describe

if TYPE_CHECKING:
    from nbtoolkit.permission.approval import ApprovalRequest, Origin
    from nbtoolkit.permission.subject import Subject

__all__ = ["card_title", "meta", "reasons"]

# Three names are read, a list of ten is searched; the body has all.
NAMED = 3
WORDS_LIMIT = 200
HERE = "the working directory"


def _code(text: str) -> str:
    return f"<code>{visible(one_line(text, WORDS_LIMIT))}</code>"


def card_title(request: ApprovalRequest) -> Title:
    """The line that says what will happen."""
    kinds = {key: describe(value) for key, value in request.variables.items()}
    tool = request.tool
    made = title(tool.name, redacted(request.tool_input, shapes=False), kinds, origin=getattr(tool, "origin", ""))
    located = getattr(tool, "located", None)
    if tool.name != "Write" or located is None:
        return made
    try:
        verb = "replaces" if Path(located(request.tool_input.get("file_path"), look=True)).exists() else "creates"
    except Exception:  # noqa: BLE001 - where it leads is judged and told elsewhere
        return made
    parts = tuple((kind, verb if text == "writes" else text) for kind, text in made.parts)
    return Title(made.tool, parts, made.complete)


def meta(request: ApprovalRequest) -> str:
    """Where the tool comes from, who asks, and what they say of it."""
    tool = request.tool
    origin = getattr(tool, "origin", "") or "Tool"
    client = getattr(tool, "client", None)
    reached = f" ({_code(settled(how(client)))})" if getattr(tool, "is_mcp", False) and client is not None else ""
    said = visible(one_line(origin, WORDS_LIMIT) + _cell_of(tool)) + reached + _asked_by(request.origin)
    description = getattr(tool, "description", "") or ""
    claim = request.tool_input.get("description")
    if tool.name == "Bash" and isinstance(claim, str) and claim.strip():
        return f"{said}, which says: “{visible(one_line(claim, WORDS_LIMIT))}”"
    if description and not getattr(tool, "is_mcp", False) and origin != "Built-in tool":
        first = one_line(description.strip().split("\n", 1)[0], WORDS_LIMIT)
        return f"{said}: {visible(first[:1].lower() + first[1:])}"
    return said


def _asked_by(origin: Origin) -> str:
    name = f" <b>{visible(one_line(origin.name, WORDS_LIMIT))}</b>" if origin.name else ""
    if origin.kind == "agent":
        return f", asked by the agent{name}" if name else ", asked by an agent"
    if origin.kind == "server":
        return f", asked over MCP by{name}" if name else ", asked over MCP"
    return ""


def reasons(request: ApprovalRequest) -> tuple[str, list[str]]:
    """What stands after "Asks because", and the engine's steps, both as markup."""
    return _because(request), _steps(request)


def _because(request: ApprovalRequest) -> str:
    decision, tool = request.decision, request.tool
    asking = [each for each in request.subjects if each.behavior is not PermissionBehavior.ALLOW]
    if decision.bypass_immune:
        causes = [each.reason for each in asking if each.safety] or [decision.message]
        said = " and ".join(visible(settled(one_line(cause, WORDS_LIMIT))) for cause in causes[:NAMED])
        return f'<span class="nbtk-bad">{said}</span>; no rule can silence this, so “Always allow” isn\'t offered'
    reason = decision.decision_reason or ""
    if reason.startswith("Rule: "):
        rules = [each.rule for each in asking if each.rule is not None]
        source = f" ({visible(one_line(settled(rules[0].source), WORDS_LIMIT))})" if rules else ""
        return f"the rule ask {_code(reason.removeprefix('Rule: '))}{source} says so"
    if getattr(tool, "is_mcp", False):
        return f"mode {visible(reason or 'default')} asks before MCP tools"
    whys = [each.subject.why for each in asking if each.subject.why]
    if whys:
        return visible(settled(one_line(whys[0], WORDS_LIMIT)))
    folders = [folder for each in asking if (folder := _edited(each.subject))]
    if folders and len(folders) == len(asking):
        return f"no rule allows edits in {_code(folders[0]) if folders[0] != HERE else HERE}"
    names = list(dict.fromkeys(_named(each.subject) for each in asking)) or [split_name(tool.name, "")[0]]
    if len(request.subjects) <= 1 and tool.name != "Bash":
        names = [tool.name]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    codes = [_code(one_line(name, 60)) for name in names[:NAMED]]
    joined = ", ".join(codes) + more if more or len(codes) == 1 else ", ".join(codes[:-1]) + " and " + codes[-1]
    return f"no rule allows {joined}"


def _named(subject: Subject) -> str:
    """What a rule would call it: the words that the suggested one names, else all of it."""
    content = subject.suggestion.rule_content if subject.kind == "command" and subject.suggestion is not None else None
    return (content or subject.text).removesuffix(":*")


def _edited(subject: Subject) -> str | None:
    """The folder in which a file would be written, as the suggested rule has it."""
    rule = subject.suggestion
    if rule is None or rule.tool_name not in {"Write", "Edit"} or not (rule.rule_content or "").endswith("/**"):
        return None
    folder = (rule.rule_content or "").removesuffix("**").removeprefix("./")
    return folder or HERE


def _steps(request: ApprovalRequest) -> list[str]:
    judgement: Any = request.judgement
    steps = [*(getattr(judgement, "steps", None) or ())]
    otherwise = _otherwise(request)
    if steps and otherwise:
        steps[-1] = f"{steps[-1]}. To decide otherwise: {otherwise}"
    return [visible(settled(one_line(str(step), WORDS_LIMIT * 2))) for step in steps]


def _otherwise(request: ApprovalRequest) -> str:
    """The smallest change after which such a call is not asked about."""
    asking = [each for each in request.subjects if each.behavior is not PermissionBehavior.ALLOW]
    if request.decision.bypass_immune or not request.suggested_rules:
        return ""
    if asking and all(each.subject.effect is Effect.EDIT for each in asking):
        return "mode accept_edits would allow it"
    rules = [str(rule) for rule in request.suggested_rules[:NAMED]]
    more = len(request.suggested_rules) - NAMED
    return f"allow {', '.join(rules)}{f' and {more} more' if more > 0 else ''}, under “Always allow”"


def _cell_of(tool: object) -> str:
    """``, cell 7`` for a function that was written there."""
    code = getattr(inspect.unwrap(func), "__code__", None) if callable(func := getattr(tool, "func", None)) else None
    shell = get_ipython()
    name_of = getattr(getattr(shell, "compile", None), "format_code_name", None)
    if code is None or name_of is None:
        return ""
    found = name_of(code.co_filename)
    number = found[1].removeprefix("In[").removesuffix("]") if found else ""
    return f", cell {number}" if number.isdigit() else ""
