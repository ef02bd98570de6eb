"""The words of a permission: behaviours, modes, rules and their text, decisions, and the context that holds them.

A rule's text is ``NAME`` or ``NAME(CONTENT)``; what CONTENT means is the business of whoever judges that tool (a shell
pattern for Bash, a path for the file tools, conditions on arguments for every other tool). This module only takes the
text apart and puts it together again: ``str(PermissionRule.parse(text, behavior)) == text`` for every text it accepts
that has no blanks around it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "AdditionalWorkingDirectory",
    "PermissionBehavior",
    "PermissionContext",
    "PermissionDecision",
    "PermissionMode",
    "PermissionRule",
]

# Their contents are commands and paths; every other tool's are conditions on arguments, unless it reads them itself.
_OWN_CONTENTS = frozenset({"Bash", "Read", "Write", "Edit", "Glob", "Grep"})
# A tool's name as a rule writes it: anything but blanks, parentheses, commas and quotes. Longer than what providers
# allow, since a rule may name a tool that nobody has made yet.
_NAME = re.compile(r"[^\s()\"',\x00-\x1f\x7f]{1,256}")


class PermissionBehavior(StrEnum):
    """What a rule, a tool's own check or a decision says; ``passthrough`` is no opinion."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"
    PASSTHROUGH = "passthrough"


class PermissionMode(StrEnum):
    """How calls that no rule names are treated; the table is in ``nbtoolkit.permission.engine``."""

    DEFAULT = "default"
    ACCEPT_EDITS = "accept_edits"
    EXPLORE = "explore"
    BYPASS = "bypass"
    DONT_ASK = "dont_ask"


class PermissionRule(BaseModel):
    """One line of permission: for which tool, for which of its calls, and what then.

    ``definition`` binds a remembered grant to the hash of the tool's definition; ``base`` is the folder from which the
    rule's relative paths are read (None: the project's folder, else the working directory).
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    tool_name: str
    rule_content: str | None = None
    behavior: PermissionBehavior
    source: str = "user"
    definition: str | None = None
    base: str | None = None

    @classmethod
    def parse(
        cls,
        text: str,
        behavior: PermissionBehavior | str,
        source: str = "user",
        *,
        definition: str | None = None,
        base: str | None = None,
    ) -> PermissionRule:
        """Read ``NAME`` or ``NAME(CONTENT)``; ValueError says what was expected, also of conditions on arguments."""
        if not isinstance(text, str):
            raise TypeError(f"A rule is a text like 'Bash(git status:*)', not {text!r}.")
        stripped = text.strip()
        name, opened, rest = stripped.partition("(")
        name = name.rstrip()
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"The rule {text!r} doesn't start with a tool's name. Expected NAME or NAME(CONTENT), "
                "as in 'load_table' or 'Bash(git status:*)'."
            )
        content: str | None = None
        if opened:
            if not rest.endswith(")"):
                raise ValueError(
                    f"The rule {text!r} must end with the parenthesis that closes it, as in 'Bash(git status:*)'."
                )
            content = rest[:-1]
            if not content.strip():
                raise ValueError(f"The rule {text!r} has nothing in its parentheses. Write {name!r} for every call.")
            if name not in _OWN_CONTENTS:
                from nbtoolkit.permission.conditions import condition_fault

                fault = condition_fault(content)
                if fault is not None:
                    raise ValueError(f"The rule {text!r} can't be read: {fault}")
        return cls(
            tool_name=name,
            rule_content=content,
            behavior=PermissionBehavior(behavior),
            source=source,
            definition=definition,
            base=base,
        )

    def __str__(self) -> str:
        return self.tool_name if self.rule_content is None else f"{self.tool_name}({self.rule_content})"


@dataclass(slots=True)
class PermissionDecision:
    """What shall happen with one call, in words for the person and the model.

    ``updated_input``, where given, is what is shown and run. ``bypass_immune`` marks a safety question, which no allow
    rule silences. ``decision_reason`` holds the word of the step that decided.
    """

    behavior: PermissionBehavior
    message: str
    decision_reason: str | None = None
    updated_input: dict[str, Any] | None = None
    suggested_rules: list[PermissionRule] | None = None
    bypass_immune: bool = False

    def __post_init__(self) -> None:
        if type(self.behavior) is not PermissionBehavior:
            self.behavior = PermissionBehavior(self.behavior)


class AdditionalWorkingDirectory(BaseModel):
    """A folder that counts as a working directory, and who said so."""

    model_config = ConfigDict(defer_build=True)

    path: str
    source: str = "user"


def _here() -> str:
    return str(Path.cwd())


class PermissionContext(BaseModel):
    """The mode, the rules by tool name and the working directories of one conversation.

    ``working_directory`` always counts beside ``working_directories``; it is the process's folder when the context is
    made, unless a notebook says otherwise. ``project_folder`` is the folder of the project's ``nbtoolkit.toml``.
    """

    model_config = ConfigDict(validate_assignment=True, defer_build=True)

    mode: PermissionMode = PermissionMode.DEFAULT
    working_directories: dict[str, AdditionalWorkingDirectory] = Field(default_factory=dict)
    allow_rules: dict[str, list[PermissionRule]] = Field(default_factory=dict)
    deny_rules: dict[str, list[PermissionRule]] = Field(default_factory=dict)
    ask_rules: dict[str, list[PermissionRule]] = Field(default_factory=dict)
    working_directory: str = Field(default_factory=_here)
    project_folder: str | None = None

    @property
    def base(self) -> str:
        """The folder that relative patterns in rules are read from, and suggestions written from."""
        return self.project_folder or self.working_directory

    def rules(self, behavior: PermissionBehavior) -> dict[str, list[PermissionRule]]:
        """The rules of one behaviour, by tool name: the dict itself, not a copy."""
        match behavior:
            case PermissionBehavior.ALLOW:
                return self.allow_rules
            case PermissionBehavior.DENY:
                return self.deny_rules
            case PermissionBehavior.ASK:
                return self.ask_rules
            case _:
                raise ValueError(f"A rule allows, denies or asks; there are no {behavior.value!r} rules.")

    def add_rule(self, rule: PermissionRule) -> bool:
        """Add a rule at the end of its list; False when an equal one is there already."""
        rules = self.rules(rule.behavior).setdefault(rule.tool_name, [])
        if rule in rules:
            return False
        rules.append(rule)
        return True

    def remove_rule(self, rule: PermissionRule) -> bool:
        """Take a rule out; False when it wasn't there."""
        by_name = self.rules(rule.behavior)
        rules = by_name.get(rule.tool_name, [])
        if rule not in rules:
            return False
        rules.remove(rule)
        if not rules:
            del by_name[rule.tool_name]
        return True
