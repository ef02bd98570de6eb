"""The sheet of what is looked at: live view, panel, schema viewer, server card. It goes with the cards' own sheet."""

from __future__ import annotations

__all__ = ["LOOKING"]

_LIVE = """
.nbtk .nbtk-live-bar{padding:8px 12px;gap:4px 16px;align-items:flex-start;flex-flow:row nowrap}
.nbtk .nbtk-live-said{flex:1 1 auto;width:auto;min-width:0}
.nbtk .nbtk-live-state{flex-flow:row wrap;gap:0;color:var(--nbtk-soft)}
.nbtk .nbtk-live-state>.widget-html{width:auto;flex:none;max-width:100%}
.nbtk .nbtk-live-count>.widget-html-content:not(:empty)::before{content:"\\00a0· "}
.nbtk .nbtk-live-body{padding:0 12px 10px;gap:4px}
.nbtk .nbtk-live-body:not(:has(>:not([style*="none"]))){display:none}
.nbtk progress{width:100%;height:6px;accent-color:var(--jp-brand-color1);display:block;margin:2px 0 4px}
.nbtk .nbtk-stream>.widget-html-content{display:flex;flex-direction:column-reverse;max-height:calc(8*1.45em + 12px);
 overflow-y:auto;background:var(--nbtk-code);border-radius:2px;border-block:6px solid transparent;padding:0 10px;
 font-size:var(--jp-code-font-size,13px);background-clip:border-box}
@media (forced-colors:active){.nbtk .nbtk-stream>.widget-html-content{border-block:0;padding-block:6px}}
.nbtk .nbtk-stream pre{flex:none;overflow:visible}
.nbtk .nbtk-live-picture img{max-width:100%;max-height:360px;display:block}
.nbtk .nbtk-item .nbtk-acts:has(>.nbtk-live)>.nbtk-status{display:none}
.nbtk .nbtk-item .nbtk-acts>.nbtk-live{visibility:visible;width:100%}
.nbtk .nbtk-item .nbtk-live :is(.nbtk-live-bar,.nbtk-live-body){padding:0}
.nbtk.nbtk-pending .nbtk-item .nbtk-acts>.nbtk-live{position:absolute;inset:0;flex-flow:row nowrap;gap:0 12px;
 align-items:center;overflow:hidden}
.nbtk.nbtk-pending .nbtk-item .nbtk-live>.nbtk-live-bar{flex:1 1 auto;width:auto;align-items:center}
.nbtk.nbtk-pending .nbtk-item .nbtk-live-state{flex-flow:row nowrap;white-space:nowrap;overflow:hidden}
.nbtk.nbtk-pending .nbtk-item .nbtk-live>.nbtk-live-body{flex:0 1 160px;width:160px;order:-1}
.nbtk.nbtk-pending .nbtk-item .nbtk-live-body>:not(.nbtk-live-progress),
.nbtk.nbtk-pending .nbtk-item .nbtk-live-body:has(>.nbtk-live-progress[style*="none"]){display:none}
.nbtk.nbtk-tray:not(.nbtk-pending) .nbtk-acts:has(>.nbtk-live)>:not(.nbtk-live){display:none}
.nbtk.nbtk-tray:not(.nbtk-pending) .nbtk-item:has(.nbtk-live)>.nbtk-item-body{display:none}
"""

# A static display is what a saved notebook keeps. While its widgets live, they stand in its place.
_TWIN = """
.jp-OutputArea-child:has(.jp-RenderedHTML):has(+.jp-OutputArea-child .nbtk-twin){display:none}
"""

# Radio buttons that look like tabs: ipywidgets' own tabs can't be used by keyboard everywhere.
_TABS = """
.nbtk .nbtk-tabs{height:auto;padding:0 12px;border-bottom:1px solid var(--nbtk-line);margin:0;width:100%}
.nbtk .nbtk-tabs .widget-radio-box{display:flex;flex-flow:row wrap;gap:0 20px;width:100%;margin:0;height:auto;
 max-width:none}
.nbtk .nbtk-tabs .widget-radio-box label{width:auto;height:auto;margin:0 0 -1px;padding:4px 0;line-height:20px;
 font-size:var(--jp-ui-font-size1,13px);color:var(--nbtk-soft);border-bottom:2px solid transparent;cursor:pointer}
.nbtk .nbtk-tabs label:hover{color:var(--nbtk-ink)}
.nbtk .nbtk-tabs label:has(:checked){color:var(--nbtk-ink);border-bottom-color:var(--jp-brand-color1);font-weight:600}
.nbtk .nbtk-tabs label:has(:focus-visible){outline:2px solid var(--jp-brand-color1);outline-offset:1px}
.nbtk .nbtk-tabs input{position:absolute;opacity:0;margin:0;width:1px}
"""

_PANEL = """
.nbtk .nbtk-bar{padding:8px 12px;gap:8px;flex-flow:row wrap;align-items:center}
.nbtk .nbtk-bar>.widget-html{flex:1 1 120px;width:auto}
.nbtk .nbtk-page{padding:8px 12px 12px;gap:8px}
.nbtk :is(.nbtk-page,.nbtk-detail>.widget-html):has(>.widget-html-content:empty){display:none}
.nbtk .nbtk-split{flex-flow:row wrap;gap:12px 20px;align-items:flex-start;padding:8px 12px 12px}
.nbtk .nbtk-list{flex:1.1 1 280px;gap:6px;width:auto}
.nbtk .nbtk-detail{flex:2 1 340px;gap:8px;width:auto}
.nbtk .nbtk-find{gap:6px;flex-flow:row wrap}
.nbtk .nbtk-find .widget-text{flex:1 1 9em}
.nbtk .nbtk-list .widget-select{height:auto;width:100%}
.nbtk .nbtk-list .widget-select select{font-family:var(--jp-code-font-family);font-size:var(--jp-code-font-size,13px);height:320px;
 width:100%;padding:4px;line-height:1.6;background:var(--jp-layout-color1);color:var(--nbtk-ink);
 border:1px solid var(--jp-border-color1);border-radius:2px}
.nbtk .nbtk-said{margin:4px 0}
.nbtk .nbtk-ink{color:var(--nbtk-ink)}
.nbtk .nbtk-below{border-top:1px solid var(--nbtk-hair);padding-top:8px}
.nbtk .nbtk-try{gap:8px}
.nbtk .nbtk-result>.widget-html table{font-size:inherit}
.nbtk .nbtk-result>.widget-html>.widget-html-content{overflow-x:auto}
.nbtk .nbtk-schema-head{padding:8px 12px 4px}
.nbtk .nbtk-below .nbtk-tabs,.nbtk .nbtk-below .nbtk-page{padding-inline:0}
.nbtk .nbtk-verdict-line{font-weight:600;margin-bottom:4px}
.nbtk ul{margin:0 0 6px;padding-left:20px}
.nbtk .nbtk-server{border-top:1px solid var(--nbtk-line);padding:8px 12px 10px;gap:6px}
.nbtk .nbtk-server:first-child{border-top:0}
.nbtk .nbtk-flight{gap:8px;align-items:flex-start;flex-flow:row nowrap}
.nbtk .nbtk-flight>.widget-html{flex:1 1 auto;width:auto}
.nbtk .nbtk-flights{gap:6px}
.nbtk table.nbtk-bare thead{display:none}
.nbtk table.nbtk-bare :is(th,td){border-top:0;padding-block:1px}
.nbtk table.nbtk-bare tbody th{color:var(--nbtk-soft)}
.nbtk table.nbtk-bare td:last-child{color:var(--nbtk-ink)}
.nbtk table.nbtk-firstwide tbody th{width:auto;overflow-wrap:anywhere}
.nbtk table.nbtk-args td:nth-child(2){min-width:7.5em}
.nbtk .nbtk-waiting{padding:8px 12px;gap:8px}
.nbtk table.nbtk-log :is(th,td):nth-child(n+3){white-space:nowrap}
.nbtk table.nbtk-log td:nth-child(3){white-space:normal}
.nbtk table.nbtk-log tbody th{padding-right:12px}
.nbtk .nbtk-page:has(table.nbtk-log)>.widget-html{overflow-x:auto}
@container (max-width:43em){.nbtk .nbtk-list .widget-select select{height:200px}
 .nbtk table.nbtk-log :is(th,td):nth-child(4),.nbtk table.nbtk-log :is(th,td):nth-child(6){display:none}}
"""

LOOKING = f"<style>{_LIVE}{_TWIN}{_TABS}{_PANEL}</style>"
