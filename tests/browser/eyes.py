"""What an eye would complain about on a page: text too faint for its ground, cut off, or wider than its frame.

Each function gives what it found, empty where all is well, from the page's own computed styles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.browser.lab import NotebookPage

__all__ = ["cut_off", "enlarge_text", "faint", "too_wide"]

# WCAG 2, level AA, for text of any size.
CONTRAST = 4.5

_SEEN = """
const seen = node => node.getClientRects().length && getComputedStyle(node).visibility === 'visible'
  && node.checkVisibility({opacityProperty: true}) && !node.closest('.nbtk-unseen > label, .nbtk-heard');
"""

_FAINT = """([where, least]) => {
  SEEN
  const canvas = document.createElement('canvas'), ink = canvas.getContext('2d', {willReadFrequently: true});
  const rgba = colour => {
    ink.clearRect(0, 0, 1, 1); ink.fillStyle = colour; ink.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = ink.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => {
    const a = top[3] + below[3] * (1 - top[3]);
    if (!a) return [0, 0, 0, 0];
    return [...[0, 1, 2].map(i => (top[i] * top[3] + below[i] * below[3] * (1 - top[3])) / a), a];
  };
  const ground = node => {
    let found = [0, 0, 0, 0];
    for (let n = node; n && found[3] < 0.999; n = n.parentElement)
      found = over(found, rgba(getComputedStyle(n).backgroundColor));
    return over(found, [255, 255, 255, 1]);
  };
  const light = colour => {
    const [r, g, b] = colour.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = new Set();
  let looked = 0;
  const judge = (node, colour, text) => {
    const below = ground(node), shown = over(rgba(colour), below);
    const [high, low] = [light(shown), light(below)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    looked++;
    if (ratio < least) found.add(`${ratio.toFixed(2)} ${text.trim().slice(0, 40)}`);
  };
  for (const root of document.querySelectorAll(where)) {
    const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode, node = text.parentElement;
      if (text.data.trim() && !['STYLE', 'OPTION'].includes(node.tagName) && !node.closest('[disabled]') && seen(node))
        judge(node, getComputedStyle(node).color, text.data);
    }
    for (const node of [...root.querySelectorAll('input, select, textarea')].filter(seen)) {
      judge(node, getComputedStyle(node).color, node.value);
      if (node.placeholder) judge(node, getComputedStyle(node, '::placeholder').color, node.placeholder);
    }
  }
  if (!looked) throw new Error(`no text in ${where}`);
  return [...found];
}"""

_CUT = """where => {
  SEEN
  const ink = document.createElement('canvas').getContext('2d'), found = [];
  for (const node of document.querySelectorAll(`${where} button, ${where} select`)) {
    if (!seen(node)) continue;
    const style = getComputedStyle(node);
    // A button's second line is for screen readers.
    let texts = [node.textContent.split('\\n')[0]];
    // What is picked must be read, and of the modes each may be.
    if (node.tagName === 'SELECT')
      texts = [...(node.closest('.nbtk-mode') ? node.options : node.selectedOptions)].map(each => each.textContent);
    ink.font = style.font;
    const room = node.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    const low = parseFloat(style.fontSize) * 1.2 > node.offsetHeight;
    found.push(...texts.filter(text => low || ink.measureText(text).width > room + 1));
  }
  return found;
}"""

_WIDE = """where => {
  SEEN
  const found = [];
  for (const frame of document.querySelectorAll(where)) {
    const {left, right} = frame.getBoundingClientRect();
    // What lies in a box that scrolls may be wider than it.
    for (const node of [...frame.querySelectorAll('*')].filter(node => seen(node) && !node.closest('.nbtk-wide *'))) {
      const at = node.getBoundingClientRect();
      if (at.right > right + 1 || at.left < left - 1) found.push(`${node.tagName} ${node.textContent.slice(0, 40)}`);
    }
  }
  return found;
}"""

_SIZES = """factor => {
  for (const name of ['ui-font-size0', 'ui-font-size1', 'ui-font-size2', 'ui-font-size3', 'code-font-size',
                      'content-font-size1', 'widgets-font-size']) {
    document.body.style.removeProperty(`--jp-${name}`);
    const now = getComputedStyle(document.body).getPropertyValue(`--jp-${name}`).trim() || '13px';
    // Those in em follow the others by themselves.
    if (factor !== 1 && now.endsWith('px')) document.body.style.setProperty(`--jp-${name}`, `${parseFloat(now) * factor}px`);
  }
}"""


def _run(page: NotebookPage, script: str, argument: object) -> list[str]:
    found: list[str] = page.page.evaluate(script.replace("SEEN", _SEEN), argument)
    return found


def faint(page: NotebookPage, where: str, least: float = CONTRAST) -> list[str]:
    """The texts, placeholders and values below ``where`` with less contrast than ``least`` to what is behind them."""
    return _run(page, _FAINT, [where, least])


def cut_off(page: NotebookPage, where: str) -> list[str]:
    """The labels of buttons and lists below ``where`` that have less room than their text."""
    return _run(page, _CUT, where)


def too_wide(page: NotebookPage, where: str) -> list[str]:
    """What stands out of its frame, a ``where``, to the left or right."""
    return _run(page, _WIDE, where)


def enlarge_text(page: NotebookPage, factor: float) -> None:
    """Make all text larger than it was at first, by Jupyter's own sizes, as its settings do."""
    page.page.evaluate(_SIZES, factor)
