"""What a browser really does with the texts of a page: where they stand, and which of them collide.

Boxes are those of the browser's own fonts, turned as the text is turned, so slanted labels are
compared as they are drawn.
"""

import json

_SCRIPT = """
(() => {
  const corners = (text) => {
    const b = text.getBBox(), m = text.getScreenCTM();
    const inset = b.height * 0.2;  // the box of a font is taller than its letters
    return [[b.x, b.y + inset], [b.x + b.width, b.y + inset],
            [b.x + b.width, b.y + b.height - inset], [b.x, b.y + b.height - inset]].map(
      ([x, y]) => [m.a * x + m.c * y + m.e, m.b * x + m.d * y + m.f]);
  };
  const span = (points, [x, y]) => {
    const values = points.map((p) => p[0] * x + p[1] * y);
    return [Math.min(...values), Math.max(...values)];
  };
  const apart = (p, q) => [p, q].some((r) => [0, 1].some((k) => {
    const side = [r[k + 1][0] - r[k][0], r[k + 1][1] - r[k][1]];
    const length = Math.hypot(...side) || 1;
    const axis = [side[0] / length, side[1] / length];
    const [a, b] = span(p, axis), [c, d] = span(q, axis);
    return Math.min(b, d) - Math.max(a, c) < SLACK;
  }));
  const found = [];
  let count = 0;
  for (const root of document.querySelectorAll("svg:not(svg svg)")) {
    const box = root.getBoundingClientRect();
    const name = root.getAttribute("aria-label") || "";
    const texts = [...root.querySelectorAll("text")].filter((t) => t.textContent.trim());
    const shown = texts.map((t) => {
      const own = [...t.childNodes].filter((n) => n.nodeName !== "title");
      return [own.map((n) => n.textContent).join(""), corners(t)];
    });
    count += shown.length;
    for (const [text, points] of shown) {
      const [a, b] = span(points, [1, 0]), [c, d] = span(points, [0, 1]);
      const out = Math.max(box.left - a, b - box.right, box.top - c, d - box.bottom);
      if (out > SLACK) found.push(["outside", name, text, Math.round(out * 10) / 10]);
    }
    for (let i = 0; i < shown.length; i++)
      for (let j = i + 1; j < shown.length; j++)
        if (!apart(shown[i][1], shown[j][1]))
          found.push(["overlap", name, shown[i][0], shown[j][0]]);
  }
  const page = document.documentElement;
  if (page.scrollWidth > window.innerWidth + 1)
    found.push(["wide page", "", page.scrollWidth, window.innerWidth]);
  return JSON.stringify([count, found]);
})()
"""


def collisions(browser, slack=1.5):
    """(number of texts, faults): texts that leave their picture or cover each other, a page too wide."""
    return json.loads(browser.ask(_SCRIPT.replace("SLACK", str(slack))))
