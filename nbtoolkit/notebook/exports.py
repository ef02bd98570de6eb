"""The log as a text in a format that other tools read; secrets are left out of each."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook import tables
from nbtoolkit.redact import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtoolkit.tool.log import CallLog

__all__ = ["FORMATS", "export"]


def export(log: CallLog, form: str) -> str:
    """The log in one of FORMATS."""
    return FORMATS[form](log)


def _rows(log: CallLog) -> list[dict[str, Any]]:
    hide = Redactor()
    return [hide.value(entry.to_dict()) for entry in log]


def _json(log: CallLog) -> str:
    return json.dumps(_rows(log), ensure_ascii=False, indent=2, default=str) + "\n"


def _csv(log: CallLog) -> str:
    rows = _rows(log)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows[0] if rows else ("number", "id", "tool"))
    for row in rows:
        writer.writerow([_cell(value) for value in row.values()])
    return out.getvalue()


def _cell(value: Any) -> Any:
    text = json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict | list) else value
    # A spreadsheet takes what begins so for a formula, and these are a model's words.
    return f"'{text}" if isinstance(text, str) and text[:1] in "=+-@\t\r" and text else text


def _markdown(log: CallLog) -> str:
    lines = ["| # | Tool | Arguments | Decided | State |", "|--:|---|---|---|---|"]
    for row in _rows(log):
        arguments = json.dumps(row["tool_input"], ensure_ascii=False, default=str)
        cells = (str(row["number"]), row["tool"], f"`{arguments}`", row["decision"], row["state"])
        lines.append("| " + " | ".join(_inline(cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _inline(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _html(log: CallLog) -> str:
    return tables.log_table(log, most=max(1, len(log)))["text/html"]


FORMATS: dict[str, Callable[[CallLog], str]] = {
    "jsonl": lambda log: log.to_jsonl(),
    "json": _json,
    "csv": _csv,
    "markdown": _markdown,
    "html": _html,
}
