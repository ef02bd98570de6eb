"""What people click: stock ipywidgets, one style sheet, no JavaScript."""

from __future__ import annotations
