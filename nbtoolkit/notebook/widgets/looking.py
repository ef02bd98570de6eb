"""The sheet of what is looked at: live view, panel, schema viewer, server card. It goes with the cards' own sheet."""

from __future__ import annotations

__all__ = ["LOOKING"]

_LIVE = """
.nbtk .nbtk-style{display:none}
.nbtk .nbtk-live-bar{padding:8px 12px;gap:4px 16px;align-items:flex-start;flex-flow:row nowrap}
.nbtk .nbtk-live-said{flex:1 1 auto;width:auto;min-width:0}
.nbtk .nbtk-live-state{flex-flow:row wrap;gap:0;color:var(--nbtk-soft)}
.nbtk .nbtk-live-state>.widget-html{width:auto;flex:none;max-width:100%}
.nbtk .nbtk-live-count>.widget-html-content:not(:empty)::before{content:"\\00a0· "}
.nbtk .nbtk-live-body{padding:0 12px 10px;gap:4px}
.nbtk .nbtk-live-body:not(:has(>:not([style*="none"]))){display:none}
.nbtk progress{width:100%;height:6px;accent-color:var(--jp-brand-color1);display:block;margin:2px 0 4px;border:0}
.nbtk .nbtk-stream>.widget-html-content{display:flex;flex-direction:column-reverse;max-height:calc(8*1.45em + 12px);
 overflow-y:auto;background:var(--nbtk-code);border-radius:2px;border-block:6px solid transparent;padding:0 10px;
 font-size:var(--jp-code-font-size,13px);background-clip:border-box}
.nbtk .nbtk-stream pre{flex:none;overflow:visible}
.nbtk .nbtk-live-picture img{max-width:100%;max-height:360px;display:block}
"""

LOOKING = f"<style>{_LIVE}</style>"
