"""Which rules name a subject of one call, in which order, and how narrowly or widely each is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtoolkit.permission.grants import BLOCK, Grants
from nbtoolkit.permission.matching import Reading
from nbtoolkit.permission.rule import PermissionBehavior, PermissionContext, PermissionDecision, PermissionRule
from nbtoolkit.permission.rule_index import Indexes
from nbtoolkit.permission.subject import Match, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nbtoolkit.permission.engine import Judged
    from nbtoolkit.permission.traits import Traits

__all__ = ["Call", "Readings"]

ALLOW, ASK, DENY = PermissionBehavior.ALLOW, PermissionBehavior.ASK, PermissionBehavior.DENY
# So many are looked at one by one faster than they are looked up.
FEW = 8
YES, NO, UNKNOWN = Match.YES, Match.NO, Match.UNKNOWN


class Readings:
    """The ways in which an engine's rules are read."""

    __slots__ = ("_kept", "indexes")

    def __init__(self) -> None:
        self._kept: dict[tuple[bool, str], Reading] = {}
        self.indexes = Indexes()

    def get(self, base: str, *, wide: bool) -> Reading:
        """A reading for one judgement: links may have changed since the last, the process's folder too."""
        reading = self._kept.get((wide, base))
        if reading is None:
            reading = self._kept[wide, base] = Reading(wide=wide, base=base)
        reading.refresh()
        return reading


class Call:
    """What one judgement knows of its call."""

    __slots__ = (
        "_grants",
        "_layers",
        "_readings",
        "_used",
        "allow_names",
        "maybe",
        "names",
        "own",
        "own_matches",
        "plain",
        "tool",
        "tool_input",
        "traits",
    )

    def __init__(
        self,
        tool: Judged,
        tool_input: dict[str, Any],
        traits: Traits,
        layers: tuple[PermissionContext, Grants],
        readings: Readings,
    ) -> None:
        self.tool = tool
        self.tool_input = tool_input
        self.traits = traits
        self.own: PermissionDecision | None = None
        self.own_matches: dict[int, bool] | None = None
        self.plain = True
        # Deny rules of which it can't be said whether they name a subject, by the subject's identity.
        self.maybe: dict[int, PermissionRule] = {}
        self._layers = layers
        self._grants = layers[1]
        self._readings = readings
        self._used: dict[tuple[bool, str | None], Reading] = {}
        self.names: tuple[str, ...] = (tool.name,)
        self.allow_names: tuple[str, ...] = self.names
        if tool.is_mcp and tool.mcp_name:
            self.names = (tool.name, f"mcp__{tool.mcp_name}")
            # "mcp__a__b" may mean the tool b of server a; it doesn't let a server that calls itself a__b in.
            self.allow_names = self.names if "__" not in tool.mcp_name else self.names[:1]

    @property
    def base(self) -> str:
        """The folder that relative patterns are read from."""
        return self._grants.base or self._layers[0].base

    async def ask_tool(self) -> None:
        """Ask a tool that matches rules by itself about each that could name this call."""
        answers: dict[int, bool] = {}
        for attribute in ("deny_rules", "ask_rules", "allow_rules"):
            for rules, _ in self._candidates(attribute, self.names, None):
                for rule in rules:
                    if rule.rule_content is not None:
                        answers[id(rule)] = await self.tool.match_rule(rule.rule_content, self.tool_input)
        self.own_matches = answers

    def deny_rule(self, subject: Subject) -> PermissionRule | None:
        """The deny rule that names the subject; one that only may is kept for ``ask_rule``."""
        sure, maybe = self._find("deny_rules", subject, wide=True)
        if sure is None and maybe is not None:
            self.maybe[id(subject)] = maybe
        return sure

    def ask_rule(self, subject: Subject) -> PermissionRule | None:
        """The ask rule that names the subject, or the ask or deny rule that may."""
        sure, maybe = self._find("ask_rules", subject, wide=True)
        return sure or maybe or self.maybe.get(id(subject))

    def allow_rule(self, subject: Subject) -> PermissionRule | None:
        """The allow rule that names the subject."""
        return self._find("allow_rules", subject, wide=False)[0]

    def allows(self, rule: PermissionRule, subject: Subject) -> bool:
        """Whether this rule, if it were there, would allow the subject."""
        return self._matches(rule, subject, wide=False) is YES

    def _candidates(
        self, attribute: str, called: tuple[str, ...], elsewhere: tuple[str, ...] | None
    ) -> Iterator[tuple[Sequence[PermissionRule], bool]]:
        """Lists of rules that may name a subject, and whether only those about a whole tool count."""
        for layer in self._layers:
            by_name: Mapping[str, Sequence[PermissionRule]] = getattr(layer, attribute)
            if not by_name:
                continue
            for name in called:
                if name in by_name:
                    # A redirect answers to Write's rules, and to a rule about the whole of Bash, but to no Bash pattern.
                    yield by_name[name], elsewhere is not None and name not in elsewhere
            for name in elsewhere or ():
                if name in by_name and name not in called:
                    yield by_name[name], False

    def _find(
        self, attribute: str, subject: Subject, *, wide: bool
    ) -> tuple[PermissionRule | None, PermissionRule | None]:
        """The first rule that names the subject, and the first that may."""
        maybe: PermissionRule | None = None
        matches, tool_input, arguments = self._matches, self.tool_input, self._arguments
        simple = self.plain and self.own_matches is None
        keys = None if self.plain else subject.keys(wide=wide)
        for rules, whole_only in self._candidates(
            attribute, self.names if wide else self.allow_names, subject.tool_names
        ):
            reading: Reading | None = None
            if keys is not None and len(rules) > FEW:
                rules = self._readings.indexes.of(rules).select(keys)  # noqa: PLW2901 - the few of them that may matter
            for rule in rules:
                content = rule.rule_content
                if content is None:
                    match = matches(rule, subject, wide=wide)
                elif whole_only:
                    continue
                elif simple and rule.base is None:
                    # The usual rule, by the shortest way: there may be a thousand of them.
                    if reading is None:
                        reading = self._reading(wide, None)
                    ready = reading.kept.get(content) or reading.ready(content)
                    match = ready.match(tool_input, arguments)
                    if match is NO or not self._holds(rule):
                        continue
                else:
                    match = matches(rule, subject, wide=wide)
                if match is YES:
                    return rule, None
                if match is UNKNOWN and maybe is None:
                    maybe = rule
        return None, maybe

    def _matches(self, rule: PermissionRule, subject: Subject, *, wide: bool) -> Match:
        match = self._content_matches(rule, subject, wide=wide)
        return match if match is NO or self._holds(rule) else NO

    def _holds(self, rule: PermissionRule) -> bool:
        """Whether a rule that names the call still holds: its count isn't used up, its tool is the one it was given to."""
        if rule.source == BLOCK and self._grants.exhausted(rule):
            return False
        return rule.definition is None or rule.definition == getattr(self.tool, "definition_hash", None)

    def _content_matches(self, rule: PermissionRule, subject: Subject, *, wide: bool) -> Match:
        content = rule.rule_content
        if content is None:
            return YES
        if not self.plain:
            return subject.matches(rule, rule.base or self.base)
        if self.own_matches is not None:
            said = self.own_matches.get(id(rule))
            # A rule that came in the meantime was not asked about.
            return (UNKNOWN if wide else NO) if said is None else YES if said else NO
        return self._reading(wide, rule.base).ready(content).match(self.tool_input, self._arguments)

    def _reading(self, wide: bool, base: str | None) -> Reading:
        reading = self._used.get((wide, base))
        if reading is None:
            reading = self._used[wide, base] = self._readings.get(base or self.base, wide=wide)
        return reading

    def _arguments(self) -> Mapping[str, Any] | None:
        """The arguments that the tool has; None where its schema doesn't list them in one place."""
        schema = getattr(self.tool, "input_schema", None)
        if not isinstance(schema, dict) or not schema.keys().isdisjoint({"$ref", "allOf", "anyOf", "oneOf"}):
            return None
        properties = schema.get("properties", {})
        return properties if isinstance(properties, dict) else None
