"""The one style sheet of all widgets: Jupyter's own variables, every rule under ``.nbtk``.

Each card carries the sheet itself, since an output that was cleared takes its styles along. Colours are Jupyter's, so
light, dark and custom themes fit; code and alarms are mixed with the text's own colour, so that they can be read on a
tinted ground too. Each has a word or sign beside it, so grey and forced colours lose nothing. Narrow and wide are told
apart by the card's own width, not the window's.
"""

from __future__ import annotations

__all__ = ["SHEET", "WIDTHS"]

_FRAME = """
.nbtk{--nbtk-high:max(28px,2.154em);--jp-widgets-inline-height:var(--nbtk-high);
 --jp-widgets-font-size:var(--jp-ui-font-size1,13px);--nbtk-line:var(--jp-border-color2,#bdbdbd);--nbtk-ink:var(--jp-ui-font-color1,#212121);
 --nbtk-soft:color-mix(in srgb,var(--nbtk-ink) 72%,transparent);
 --nbtk-hair:color-mix(in srgb,var(--nbtk-ink) 14%,transparent);
 --nbtk-code:color-mix(in srgb,var(--nbtk-ink) 6%,transparent);
 --nbtk-go:var(--jp-content-link-color,var(--jp-brand-color1,#0d47a1));
 --nbtk-bad:color-mix(in srgb,var(--jp-error-color1,#b71c1c) 76%,var(--nbtk-ink));
 font-size:var(--jp-ui-font-size1,13px);color:var(--nbtk-ink);max-width:960px;width:100%;box-sizing:border-box;
 overflow:visible;container-type:inline-size}
.nbtk *{box-sizing:border-box}
.nbtk .nbtk-style.widget-html{display:none}
.nbtk.jupyter-widgets,.nbtk .jupyter-widgets{margin:0}
.nbtk .widget-box{overflow:visible;min-width:0}
.nbtk .widget-html,.nbtk .widget-html-content{height:auto;line-height:1.5;min-width:0;width:100%;align-self:stretch}
.nbtk.nbtk-card.jupyter-widgets{margin:0 0 8px}
.nbtk.nbtk-card{border:1px solid var(--nbtk-line);border-radius:3px;background:var(--jp-layout-color1)}
.nbtk.nbtk-card.nbtk-pending{border-color:var(--jp-brand-color1)}
.nbtk.nbtk-card .nbtk-card.jupyter-widgets{border-width:1px 0 0;border-radius:0;margin:0;max-width:none}
.nbtk.nbtk-card .nbtk-card.nbtk-pending{box-shadow:inset 3px 0 var(--jp-brand-color1)}
.nbtk .nbtk-head{padding:8px 12px;gap:2px 16px;align-items:flex-start;flex-flow:row wrap}
.nbtk .nbtk-head>.widget-html{flex:1 1 300px;width:auto}
.nbtk .nbtk-title{font-size:var(--jp-ui-font-size2,15px);font-weight:600;line-height:1.4;overflow-wrap:anywhere}
.nbtk .nbtk-title code{font-family:var(--jp-code-font-family);font-size:.93em;background:none;padding:0;color:inherit}
.nbtk .nbtk-heard{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.nbtk.nbtk-asked:not(.nbtk-pending) .nbtk-heard{display:none}
.nbtk .nbtk-meta{color:var(--nbtk-soft);overflow-wrap:anywhere}
.nbtk .nbtk-body{padding:0 12px 8px}
.nbtk .nbtk-why{margin-bottom:8px}
.nbtk .nbtk-soft{color:var(--nbtk-soft)}
.nbtk .nbtk-bad{color:var(--nbtk-bad);font-weight:600}
.nbtk .nbtk-above{margin:0 0 4px}
.nbtk .nbtk-link{color:var(--nbtk-go)}
.nbtk .nbtk-ctl{border:1px solid currentColor;border-radius:2px;font-size:.8em;padding:0 2px;color:var(--nbtk-bad)}
"""

_TEXT = """
.nbtk summary{cursor:pointer;width:fit-content;max-width:100%}
.nbtk summary::marker{color:var(--nbtk-soft)}
.nbtk details[open]>summary{margin-bottom:4px}
.nbtk p{margin:0}
.nbtk ol{margin:0;padding-left:20px}
.nbtk ol li{margin:0}
.nbtk code,.nbtk pre{font-family:var(--jp-code-font-family);font-size:var(--jp-code-font-size,13px);
 color:var(--jp-content-font-color1);background:none;padding:0;border:0}
.nbtk pre{margin:0;white-space:pre-wrap;overflow-wrap:anywhere;word-break:normal;line-height:1.45}
.nbtk pre.nbtk-code{background:var(--nbtk-code);border-radius:2px;padding:6px 10px}
.nbtk .nbtk-note{margin-top:6px;color:var(--nbtk-soft);overflow-wrap:anywhere}
.nbtk :is(.k,.kc,.kd,.kn,.kr){color:color-mix(in srgb,var(--jp-mirror-editor-keyword-color) 64%,var(--nbtk-ink))}
.nbtk :is(.s,.s1,.s2,.sb,.sd,.sh,.se){color:color-mix(in srgb,var(--jp-mirror-editor-string-color) 64%,var(--nbtk-ink))}
.nbtk :is(.c,.c1,.ch){color:color-mix(in srgb,var(--jp-mirror-editor-comment-color) 58%,var(--nbtk-ink))}
.nbtk :is(.m,.mi,.mf){color:color-mix(in srgb,var(--jp-mirror-editor-number-color) 64%,var(--nbtk-ink))}
.nbtk :is(.nb,.bp){color:color-mix(in srgb,var(--jp-mirror-editor-builtin-color) 64%,var(--nbtk-ink))}
.nbtk .nv{color:color-mix(in srgb,var(--jp-mirror-editor-variable-2-color) 64%,var(--nbtk-ink))}
.nbtk .nf{color:color-mix(in srgb,var(--jp-mirror-editor-def-color) 64%,var(--nbtk-ink))}
"""

# Children, not descendants: a value may hold a table of its own, the first rows of a DataFrame.
_TABLE = """
.nbtk table.nbtk-t{border-collapse:collapse;width:100%;margin:0;font-size:inherit;table-layout:auto;border:0}
.nbtk table.nbtk-t>*>:where(tr)>:is(th,td){text-align:left;vertical-align:top;padding:4px 12px 4px 0;border:0;
 border-top:1px solid var(--nbtk-hair);max-width:none;white-space:normal;overflow-wrap:break-word;background:none;
 color:inherit}
.nbtk table.nbtk-t td :is(code,pre){overflow-wrap:anywhere}
.nbtk table.nbtk-t>*>:where(tr)>td:last-child{color:var(--nbtk-soft);padding-right:0}
.nbtk table.nbtk-t>thead>:where(tr)>th{border-top:0;color:var(--nbtk-soft);font-weight:400;white-space:nowrap}
.nbtk table.nbtk-t>tbody>:where(tr)>th{font-weight:400;overflow-wrap:normal;width:1%;padding-right:24px}
.nbtk table.nbtk-t>tbody>:where(tr)>th.nbtk-long{overflow-wrap:anywhere;min-width:10em}
.nbtk table.nbtk-t>tbody>tr:nth-child(n){background:none}
.nbtk table.dataframe{border-collapse:collapse;font-size:var(--jp-ui-font-size1,13px);margin:4px 0;border:0}
.nbtk table.dataframe :is(td,th){padding:2px 10px;text-align:right;border:0;color:inherit;font-weight:400;background:none}
.nbtk table.dataframe thead th{color:var(--nbtk-soft);white-space:nowrap}
.nbtk table.dataframe tr:nth-child(n){background:none}
.nbtk .nbtk-wide{overflow-x:auto;contain:inline-size}
.nbtk .nbtk-parts{display:grid;grid-template-columns:auto minmax(0,max-content) minmax(190px,1fr);column-gap:8px;
 background:var(--nbtk-code);border-radius:2px;padding:4px 10px}
.nbtk pre.nbtk-code+.nbtk-parts{margin-top:4px}
.nbtk .nbtk-parts>*{padding:3px 0}
.nbtk .nbtk-op{color:var(--nbtk-soft);text-align:right}
.nbtk .nbtk-verdict{padding-left:24px;color:var(--nbtk-soft)}
.nbtk .nbtk-ask{color:var(--nbtk-ink);font-weight:600}
.nbtk .nbtk-deny{color:var(--nbtk-bad);font-weight:600}
.nbtk .nbtk-diff{display:grid;grid-template-columns:calc(var(--nbtk-digits) + 14px) calc(var(--nbtk-digits) + 8px) 2ch
 minmax(0,1fr);background:var(--nbtk-code);font-family:var(--jp-code-font-family);
 font-size:var(--jp-code-font-size,13px);line-height:1.45;color:var(--jp-content-font-color1)}
.nbtk .nbtk-diffs>.nbtk-diff:first-child{padding-top:4px;border-radius:2px 2px 0 0}
.nbtk .nbtk-diffs>.nbtk-diff:last-child{padding-bottom:4px}
.nbtk .nbtk-diff>div{display:contents}
.nbtk .nbtk-diff>div>span{padding:0 4px;white-space:pre-wrap;overflow-wrap:anywhere;min-width:0}
.nbtk .nbtk-diff>div>span:last-child{padding-right:10px}
.nbtk .nbtk-diff .nbtk-n{color:var(--nbtk-soft);text-align:right;user-select:none;padding-left:10px;overflow-wrap:normal}
.nbtk .nbtk-diff .nbtk-n+.nbtk-n{padding-left:4px}
.nbtk .nbtk-diff .nbtk-add>span{background:color-mix(in srgb,var(--jp-success-color1) 16%,transparent)}
.nbtk .nbtk-diff .nbtk-del>span{background:color-mix(in srgb,var(--jp-error-color1) 14%,transparent)}
.nbtk .nbtk-diff .nbtk-gap>span{color:var(--nbtk-soft)}
.nbtk .nbtk-diffs summary{padding:2px 0}
@media (forced-colors:active){
 .nbtk .nbtk-diff .nbtk-add>span{font-weight:600}
 .nbtk .nbtk-diff .nbtk-del>span:last-child{text-decoration:line-through}}
@container (max-width:32.3em){
 .nbtk table.nbtk-t:has(td+td)>thead{display:none}
 .nbtk table.nbtk-t:has(td+td)>tbody{display:grid;grid-template-columns:fit-content(50%) minmax(0,1fr)}
 .nbtk table.nbtk-t:has(td+td)>:where(tbody)>tr{display:grid;grid-column:1/-1;grid-template-columns:subgrid;
  border-top:1px solid var(--nbtk-hair)}
 .nbtk table.nbtk-t:has(td+td)>:where(tbody)>:where(tr)>:is(th,td){border-top:0;width:auto}
 .nbtk table.nbtk-t:has(td+td)>:where(tbody)>:where(tr)>td:nth-child(n+3){grid-column:2;padding-top:0}}
@container (max-width:43em){
 .nbtk .nbtk-parts{grid-template-columns:auto minmax(0,1fr)}
 .nbtk .nbtk-verdict{grid-column:2;padding:0 0 6px}
 .nbtk table.nbtk-t>tbody>:where(tr)>th{padding-right:12px}}
"""

# Both layers of the foot lie in one grid cell, so that answering moves nothing. A button shows the first line of its
# label; the second, out of sight, makes its name unique for a screen reader.
_ACTIONS = """
.nbtk .nbtk-foot{display:grid;border-top:1px solid var(--nbtk-line);padding:8px 12px;overflow:visible;
 grid-template-columns:minmax(0,1fr)}
.nbtk .nbtk-foot>*{grid-area:1/1;align-self:center}
.nbtk .nbtk-acts{border-top:1px solid var(--nbtk-line);padding:8px 12px;overflow:visible;position:relative}
.nbtk .nbtk-row>.nbtk-status{position:absolute;inset:0 12px;width:auto;height:auto;display:flex;align-items:center;
 visibility:hidden;pointer-events:none;overflow-wrap:anywhere}
.nbtk .nbtk-row>.nbtk-status>.widget-html-content{align-self:center}
.nbtk .nbtk-asked:not(.nbtk-pending)>.nbtk-acts>:not(.nbtk-status,.nbtk-live),
.nbtk.nbtk-asked:not(.nbtk-pending)>.nbtk-acts>:not(.nbtk-status,.nbtk-live),
.nbtk.nbtk-asked:not(.nbtk-pending)>.nbtk-head>:not(.widget-html){visibility:hidden}
.nbtk .nbtk-asked:not(.nbtk-pending)>.nbtk-acts>.nbtk-status,
.nbtk.nbtk-asked:not(.nbtk-pending)>.nbtk-acts>.nbtk-status{visibility:visible}
.nbtk .nbtk-hidden,.nbtk .nbtk-hidden>*{visibility:hidden}
.nbtk .nbtk-shut{display:none}
.nbtk .nbtk-mode{width:12.2em;flex:none}
.nbtk .nbtk-row{flex-flow:row wrap;gap:8px;align-items:center}
.nbtk .nbtk-row>.widget-html{width:auto;flex:1 1 160px}
.nbtk .nbtk-deny-pair{flex:1 1 250px;gap:0;flex-flow:row nowrap}
.nbtk .nbtk-deny-pair>.widget-text{flex:1 1 120px;width:auto}
.nbtk .nbtk-deny-pair .jupyter-button{border-radius:2px 0 0 2px;border-right:0}
.nbtk :is(.widget-text,.widget-dropdown,.widget-textarea,.widget-select){width:auto;min-width:0}
.nbtk .widget-text{height:auto}
.nbtk .widget-text input,.nbtk .widget-dropdown select{width:100%;min-width:0}
.nbtk .widget-textarea textarea{font-family:var(--jp-code-font-family);font-size:var(--jp-code-font-size,13px);
 field-sizing:content;max-height:24em}
.nbtk .nbtk-unseen textarea{min-height:5em}
.nbtk :is(input,textarea)::placeholder{color:var(--nbtk-soft);opacity:1}
.nbtk input:placeholder-shown{text-overflow:ellipsis}
.nbtk .jupyter-button{height:var(--nbtk-high);line-height:calc(var(--nbtk-high) - 2px);padding:0 6px;white-space:pre;overflow:hidden;text-overflow:clip;
 font-size:var(--jp-ui-font-size1,13px);border:1px solid var(--jp-border-color1);border-radius:2px;
 background:var(--jp-layout-color1);color:var(--nbtk-ink);box-shadow:none;flex:none;text-align:center}
.nbtk .jupyter-button:hover{background:var(--jp-layout-color2);box-shadow:none}
.nbtk .jupyter-button:disabled{opacity:.5}
.nbtk .nbtk-primary.jupyter-button{border-color:var(--nbtk-go);color:var(--nbtk-go);font-weight:600}
.nbtk .nbtk-quiet.jupyter-button{border-color:transparent;background:none;color:var(--nbtk-go)}
.nbtk .nbtk-quiet.jupyter-button:hover{text-decoration:underline}
.nbtk :is(summary,button,input,select,textarea):focus-visible{
 outline:2px solid var(--jp-brand-color1)!important;outline-offset:1px}
.nbtk .nbtk-drawer{border-top:1px solid var(--nbtk-hair);padding:8px 12px 10px;gap:6px}
.nbtk .nbtk-fault{padding-left:104px}
.nbtk .nbtk-drawer>.widget-html:has(>.widget-html-content:empty){display:none}
.nbtk .widget-label{color:var(--nbtk-soft)}
.nbtk .nbtk-unseen{position:relative}
.nbtk .nbtk-unseen>.widget-label{position:absolute;width:1px;height:1px;margin:0;padding:0;overflow:hidden;
 clip-path:inset(50%)}
.nbtk .widget-dropdown>select{appearance:none;padding-right:22px;
 background:linear-gradient(45deg,transparent 50%,currentColor 50%) right 12px center/5px 5px no-repeat,
 linear-gradient(135deg,currentColor 50%,transparent 50%) right 7px center/5px 5px no-repeat,var(--jp-layout-color1)}
@media (forced-colors:active){.nbtk .widget-dropdown>select{appearance:auto;background:none}}
"""

# Labels stand in one column, and above their field where they are longer than that.
_FORM = """
.nbtk.nbtk-form{padding:2px 0}
.nbtk .nbtk-form,.nbtk .nbtk-fields,.nbtk .nbtk-inside,.nbtk .nbtk-group{gap:6px}
.nbtk .nbtk-field{gap:2px;width:100%}
.nbtk .nbtk-field>.widget-inline-hbox{flex-flow:row wrap;height:auto;gap:2px 8px;width:100%;align-items:center}
.nbtk .nbtk-field>.widget-inline-hbox>.widget-label{width:auto!important;min-width:96px;max-width:100%;margin:0;
 white-space:normal;overflow-wrap:anywhere;line-height:1.4;height:auto;text-align:right;flex:none}
.nbtk .nbtk-field>.widget-inline-hbox>:is(input,textarea,select){flex:1 1 180px;min-width:0;margin:0}
.nbtk .nbtk-field>.widget-datepicker>input{flex:0 1 180px;height:var(--nbtk-high)}
.nbtk .nbtk-field>.widget-dropdown>select{height:var(--nbtk-high)}
.nbtk .nbtk-field>.widget-checkbox{width:100%}
.nbtk .nbtk-inside{border-left:2px solid var(--nbtk-hair);padding:2px 0 2px 12px;margin-left:4px!important}
.nbtk .nbtk-inside:empty{display:none}
.nbtk .nbtk-legend{line-height:1.5}
.nbtk .nbtk-hint{color:var(--nbtk-soft);padding-left:104px;overflow-wrap:anywhere}
.nbtk .nbtk-group>.nbtk-fieldnote:not(.nbtk-later+*) :is(.nbtk-hint,.nbtk-fault){padding-left:0}
.nbtk .nbtk-fieldnote:has(>.widget-html-content:empty){display:none}
.nbtk .nbtk-ticks{flex-flow:row wrap;gap:2px 16px;align-items:center}
.nbtk .nbtk-tickname{width:auto;min-width:96px;text-align:right;color:var(--nbtk-soft);margin-right:-8px!important}
.nbtk .nbtk-ticks .widget-checkbox label{margin:0}
.nbtk .nbtk-ticks .widget-checkbox{width:auto}
.nbtk .nbtk-item-row{gap:8px;align-items:flex-start;width:100%}
.nbtk .nbtk-item-row>:first-child{flex:1 1 180px}
.nbtk .nbtk-later{gap:8px;align-items:center;flex-flow:row wrap}
.nbtk .nbtk-later>.widget-html{width:auto}
.nbtk :is(.nbtk-later,.nbtk-ticks)>.widget-html{align-self:center;flex:none;max-width:100%}
.nbtk .nbtk-fixed{color:var(--nbtk-soft);line-height:var(--nbtk-high)}
.nbtk .nbtk-fixed>span:first-child{display:inline-block;min-width:96px;text-align:right;margin-right:8px}
@container (max-width:43em){
 .nbtk .nbtk-fault,.nbtk .nbtk-hint{padding-left:0}
 .nbtk .nbtk-field>.widget-inline-hbox>.widget-label,.nbtk .nbtk-tickname,.nbtk .nbtk-fixed>span:first-child{
  min-width:0;text-align:left}
 .nbtk .nbtk-field>.widget-checkbox>.widget-label:empty{display:none}
 .nbtk .nbtk-inside{padding-left:8px}}
"""

_TRAY = """
.nbtk .nbtk-tray-bar{padding:8px 12px;gap:4px 16px;flex-flow:row wrap;align-items:center}
.nbtk .nbtk-tray-bar>.widget-html{flex:1 1 260px;width:auto}
.nbtk .nbtk-lines{display:grid}
.nbtk .nbtk-lines>*{grid-area:1/1}
.nbtk .nbtk-lines>[aria-hidden]{visibility:hidden}
.nbtk .nbtk-all{gap:8px;margin-left:auto;flex:none;flex-flow:row wrap;max-width:100%}
@container (max-width:43em){.nbtk .nbtk-all{margin-left:0}.nbtk .nbtk-all>:first-child{order:3}}
.nbtk .nbtk-item{border-top:1px solid var(--nbtk-line);padding:8px 12px 10px;gap:6px}
.nbtk .nbtk-item>.nbtk-acts{border-top:0;padding:0}
.nbtk .nbtk-item>.nbtk-acts>.nbtk-status{inset:0}
.nbtk .nbtk-item>.nbtk-drawer{padding:8px 0 2px}
.nbtk .nbtk-item>.nbtk-acts>.nbtk-deny-pair{flex:1 1 150px}
.nbtk .nbtk-what>summary{line-height:1.5;overflow-wrap:anywhere;list-style-position:outside;margin-left:14px;
 width:auto;max-width:calc(100% - 14px)}
.nbtk .nbtk-what>summary b{font-weight:600}
.nbtk .nbtk-what>summary b code{font-size:.93em;color:inherit}
.nbtk .nbtk-what>:not(summary){margin-left:14px}
.nbtk .nbtk-clip{max-height:calc(8*1.5em + 8px);overflow:hidden}
.nbtk .nbtk-clip:has(+details[open]){max-height:none}
.nbtk .nbtk-unclip>summary{color:var(--nbtk-go)}
.nbtk .nbtk-unclip[open]>summary>span:first-child,.nbtk .nbtk-unclip:not([open])>summary>span:last-child{display:none}
.nbtk .nbtk-item.nbtk-asked:not(.nbtk-pending) .nbtk-what>summary b{font-weight:400}
"""

# Buttons have a width of their own, since a label's second line would stretch them; classes spare a model for each.
WIDTHS = {f"{tenths / 10:g}em": f"nbtk-w{tenths}" for tenths in range(30, 152, 2)}
_WIDTHS = "".join(f".nbtk .{name}{{width:{width}}}" for width, name in WIDTHS.items())

SHEET = f"<style>{_FRAME}{_TEXT}{_TABLE}{_ACTIONS}{_TRAY}{_FORM}{_WIDTHS}</style>"
