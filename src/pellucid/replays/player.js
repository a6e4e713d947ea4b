/* The player of a replay: draws the precomputed frames of one fit and moves between them.

   The page holds one compressed JSON document (`read`). Its panels are charts, trees, tables or weight
   matrices; a chart is a list of marks. A value that changes with the step is a series with one entry
   per step, where null repeats the entry before it. Positions are interpolated while playing, unless the
   reader prefers reduced motion. No request leaves this page. */
"use strict";
(() => {
  const SPEEDS = [0.5, 1, 2, 4, 8, 15, 30, 60];
  const FIRST = 35; // the character code of 0 in a series of letters
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const $ = (id) => document.getElementById(id);
  let theme;

  // Reading ---------------------------------------------------------------------------------------

  async function read() {
    const packed = Uint8Array.from(atob($("data").textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  /** Replace each null of a series by the entry before it, in every series below `node`. */
  function complete(node) {
    if (Array.isArray(node)) return node.forEach(complete);
    if (!node || typeof node !== "object") return;
    for (const [name, value] of Object.entries(node)) {
      if (name === "s" && Array.isArray(value)) {
        for (let i = 1; i < value.length; i++) if (value[i] === null) value[i] = value[i - 1];
      } else complete(value);
    }
  }

  /** The entry of a series at time t; arrays of numbers of one length are interpolated. */
  function at(series, t) {
    const i = Math.floor(t);
    const a = series[i];
    return i === t || i + 1 >= series.length ? a : between(a, series[i + 1], t - i);
  }

  function between(a, b, share) {
    if (a === b) return a;
    if (typeof a === "number" && typeof b === "number") return a + (b - a) * share;
    if (Array.isArray(a) && Array.isArray(b) && a.length === b.length)
      return a.map((value, k) => between(value, b[k], share));
    return a;
  }

  const letter = (text, k) => text.charCodeAt(k) - FIRST;

  function number(value) {
    if (value === null || value === undefined) return "";
    if (typeof value !== "number" || Number.isInteger(value)) return String(value);
    const size = Math.abs(value);
    if (size >= 1e6 || size < 1e-4) return value.toExponential(3).replace(/\.?0+e/, "e");
    return String(Number(value.toPrecision(size >= 1000 ? 6 : 5)));
  }

  // Colours ---------------------------------------------------------------------------------------

  const rgb = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
  const mix = (a, b, share) => a.map((value, k) => Math.round(value + (b[k] - value) * share));

  /** The text of a colour, kept with it: building texts costs more than drawing. */
  function css(c, alpha = 1) {
    const texts = c.texts || (c.texts = {});
    return texts[alpha] || (texts[alpha] = `rgba(${c[0]},${c[1]},${c[2]},${alpha})`);
  }

  function readTheme(palette) {
    const ink = dark.matches ? [232, 234, 237] : [27, 31, 36];
    const page = dark.matches ? [22, 24, 28] : [255, 255, 255];
    return {
      ink, page, muted: mix(ink, page, 0.42), faint: mix(ink, page, 0.82),
      bad: dark.matches ? [255, 122, 110] : [200, 30, 20],
      // The palette, then paler, then darker: colour and shape tell 24 classes apart.
      classes: [[ink, 0.2], [page, 0.45], [ink, 0.55]].flatMap(([to, share]) =>
        palette.map((hex) => mix(rgb(hex), to, share))),
    };
  }

  function colour(which) {
    if (typeof which === "string") return theme[which];
    return theme.classes[(which || 0) % theme.classes.length];
  }

  // Diverging from one class colour to the next through the page; `share` from -1 to 1.
  const signed = (share) => mix(theme.page, colour(share < 0 ? 1 : 0), Math.min(1, Math.abs(share)));

  // Shapes: colour is never the only difference between classes -------------------------------------

  const SHAPES = [
    (g, r) => g.arc(0, 0, r, 0, 7),
    (g, r) => g.rect(-0.88 * r, -0.88 * r, 1.76 * r, 1.76 * r),
    (g, r) => polygon(g, [[0, -1.2], [1.1, 0.8], [-1.1, 0.8]], r),
    (g, r) => polygon(g, [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]], r),
    (g, r) => polygon(g, [[0, 1.2], [1.1, -0.8], [-1.1, -0.8]], r),
    (g, r) => polygon(g, [[-0.4, -1.2], [0.4, -1.2], [0.4, -0.4], [1.2, -0.4], [1.2, 0.4], [0.4, 0.4],
      [0.4, 1.2], [-0.4, 1.2], [-0.4, 0.4], [-1.2, 0.4], [-1.2, -0.4], [-0.4, -0.4]], r),
    (g, r) => polygon(g, [[-1.2, -1], [1.2, -1], [-0.5, 0], [1.2, 1], [-1.2, 1]], r),
  ];

  function polygon(g, corners, r) {
    corners.forEach(([x, y], k) => (k ? g.lineTo(x * r, y * r) : g.moveTo(x * r, y * r)));
    g.closePath();
  }

  function shape(g, which, x, y, r) {
    g.save();
    g.translate(x, y);
    g.beginPath();
    SHAPES[which % SHAPES.length](g, r);
    g.restore();
  }

  // Axes ------------------------------------------------------------------------------------------

  function scale(axis, from, to) {
    const f = axis.log ? Math.log10 : (v) => v;
    const low = f(axis.range[0]), high = f(axis.range[1]);
    return (v) => from + ((f(v) - low) / (high - low)) * (to - from);
  }

  function ticks(axis, room) {
    if (axis.ticks) return axis.ticks;
    const low = Math.min(...axis.range), high = Math.max(...axis.range), found = [];
    if (axis.log) {
      const powers = Math.log10(high) - Math.log10(low);
      const each = Math.max(1, Math.ceil(powers / Math.max(2, room)));
      for (let p = Math.ceil(Math.log10(low)); p <= Math.log10(high) + 1e-9; p += each)
        for (const m of powers < 2 ? [1, 2, 5] : [1]) {
          const v = m * 10 ** p;
          if (v >= low * 0.999 && v <= high * 1.001) found.push([v, number(Number(v.toPrecision(3)))]);
        }
      if (found.length > 1) return found;
      return [[low, number(Number(low.toPrecision(3)))], [high, number(Number(high.toPrecision(3)))]];
    }
    const raw = (high - low) / Math.max(2, room), unit = 10 ** Math.floor(Math.log10(raw));
    const steps = [0.5, 1, 2, 5, 10].map((m) => m * unit), k = steps.findIndex((s) => s >= raw);
    let step = high - low < 2.2 * steps[k] ? steps[k - 1] : steps[k]; // one tick says nothing
    if (axis.whole) step = Math.max(1, Math.round(step));
    for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + step * 1e-9; v += step) {
      const near = Math.abs(v) < step * 1e-9 ? 0 : Number(v.toPrecision(12));
      found.push([near, number(near)]);
    }
    return found;
  }

  function cut(g, text, room) {
    if (g.measureText(text).width <= room) return text;
    let n = text.length;
    while (n > 1 && g.measureText(text.slice(0, n) + "…").width > room) n--;
    return text.slice(0, n) + "…";
  }

  // Panels ----------------------------------------------------------------------------------------

  function element(tag, name, text) {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  /** A figure with its title, a canvas that follows the width, a legend and a note. */
  function canvasPanel(spec, host, height, paint) {
    const figure = element("figure", spec.wide ? "panel wide" : "panel");
    figure.append(element("h2", "", spec.title));
    const canvas = element("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", spec.describe || spec.title);
    figure.append(canvas);
    const legend = element("div", "legend");
    figure.append(legend);
    if (spec.note) figure.append(element("p", "note", spec.note));
    host.append(figure);
    const g = canvas.getContext("2d");
    let width = 0, tall = 0;
    function layout() {
      const ratio = window.devicePixelRatio || 1;
      width = Math.max(200, Math.floor(figure.clientWidth));
      tall = Math.round(height(width));
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(tall * ratio);
      canvas.style.height = `${tall}px`;
      g.setTransform(ratio, 0, 0, ratio, 0, 0);
      drawLegend(legend, spec.legend || []);
    }
    function draw(t) {
      g.clearRect(0, 0, width, tall);
      g.font = "12px system-ui, sans-serif";
      g.lineJoin = "round";
      paint(g, width, tall, t);
    }
    return { layout, draw };
  }

  function drawLegend(host, entries) {
    host.replaceChildren();
    for (const [name, which, kind] of entries) {
      const item = element("span", "key"), swatch = element("canvas", "swatch");
      const ratio = window.devicePixelRatio || 1;
      swatch.width = 22 * ratio;
      swatch.height = 14 * ratio;
      swatch.setAttribute("aria-hidden", "true");
      const g = swatch.getContext("2d");
      g.scale(ratio, ratio);
      g.strokeStyle = g.fillStyle = css(colour(which));
      if (kind === "ring") {
        g.strokeStyle = css(theme.ink);
        g.lineWidth = 1.5;
        shape(g, 0, 11, 7, 5.5);
        g.stroke();
      } else if (kind === "cross") drawCross(g, 11, 7, 4);
      else if (kind === "swatch") g.fillRect(4, 1, 14, 12);
      else if (kind === "line" || Array.isArray(kind)) {
        g.lineWidth = 2;
        if (kind !== "line") g.setLineDash(kind);
        g.beginPath();
        g.moveTo(1, 7);
        g.lineTo(21, 7);
        g.stroke();
      } else {
        shape(g, typeof which === "number" ? which : 0, 11, 7, 4.4);
        g.fill();
      }
      item.append(swatch, element("bdi", "", name));
      host.append(item);
    }
  }

  function drawCross(g, x, y, r) {
    g.strokeStyle = css(theme.bad);
    g.lineWidth = 1.6;
    line(g, x - r, y - r, x + r, y + r);
    line(g, x + r, y - r, x - r, y + r);
  }

  // Charts ----------------------------------------------------------------------------------------

  function chart(spec, host) {
    for (const mark of spec.marks) mark.painter = PAINTERS[mark.m](mark);
    const height = (w) => (spec.bars ? 56 + 22 * spec.bars : Math.min(420, Math.max(230, w * 0.78)));
    return canvasPanel(spec, host, height, (g, w, h, t) => {
      const box = frame(g, spec, w, h);
      g.save();
      g.beginPath();
      g.rect(box.left, box.top, box.right - box.left, box.bottom - box.top);
      g.clip();
      for (const mark of spec.marks) mark.painter(g, box, t);
      g.restore();
      border(g, box);
    });
  }

  function border(g, box) {
    g.strokeStyle = css(theme.muted);
    g.lineWidth = 1;
    g.strokeRect(box.left + 0.5, box.top + 0.5, box.right - box.left - 1, box.bottom - box.top - 1);
  }

  /** Draw ticks and labels; the rectangle of the data with its two scales. */
  function frame(g, spec, w, h) {
    const top = 8, bottom = h - (spec.x.label ? 40 : 24), right = w - 10;
    const rows = ticks(spec.y, (bottom - top) / 42);
    const widest = Math.max(...rows.map(([, text]) => g.measureText(text).width));
    const names = Math.min(widest, w * 0.4);
    const left = Math.ceil(names) + (spec.y.label ? 28 : 12);
    const box = {
      left, right, top, bottom,
      x: scale(spec.x, left, right), y: scale(spec.y, bottom, top),
    };
    g.fillStyle = css(theme.ink, 0.85);
    g.strokeStyle = css(theme.faint);
    g.lineWidth = 1;
    g.textBaseline = "middle";
    g.textAlign = "right";
    for (const [v, text] of rows) {
      g.fillText(cut(g, text, names), left - 6, box.y(v));
      line(g, left, box.y(v), right, box.y(v));
    }
    g.textAlign = "center";
    g.textBaseline = "top";
    let free = -Infinity;
    const marks = ticks(spec.x, (right - left) / 70).sort((a, b) => box.x(a[0]) - box.x(b[0]));
    for (const [v, text] of marks) {
      const half = g.measureText(text).width / 2;
      const x = Math.max(left - 4 + half, Math.min(w - 1 - half, box.x(v)));
      line(g, box.x(v), top, box.x(v), bottom);
      if (x - half < free) continue;
      g.fillText(text, x, bottom + 5);
      free = x + half + 6;
    }
    if (spec.x.label) g.fillText(cut(g, spec.x.label, right - left), (left + right) / 2, h - 16);
    if (spec.y.label) {
      g.save();
      g.translate(3, (top + bottom) / 2);
      g.rotate(-Math.PI / 2);
      g.fillText(cut(g, spec.y.label, bottom - top), 0, 0);
      g.restore();
    }
    return box;
  }

  function line(g, x0, y0, x1, y1) {
    g.beginPath();
    g.moveTo(x0, y0);
    g.lineTo(x1, y1);
    g.stroke();
  }

  function polyline(g, box, xs, ys) {
    g.beginPath();
    let pen = false;
    for (let k = 0; k < xs.length; k++) {
      if (xs[k] === null || ys[k] === null) { pen = false; continue; }
      const x = box.x(xs[k]), y = box.y(ys[k]);
      if (pen) g.lineTo(x, y); else g.moveTo(x, y);
      pen = true;
    }
    g.stroke();
  }

  /** What each kind of mark needs to draw itself at time t. */
  const PAINTERS = {
    grid(mark) {
      const picture = element("canvas");
      picture.width = mark.nx;
      picture.height = mark.ny;
      const edges = [];
      let shown = -1, seen = null;
      return (g, box, t) => {
        const i = mark.s.length > 1 ? Math.floor(t) : 0;
        if (shown !== mark.s[i] || seen !== theme) {
          shown = mark.s[i];
          seen = theme;
          fillGrid(picture, mark, shown, edges);
        }
        const [x0, x1, y0, y1] = mark.box;
        const left = box.x(x0), top = box.y(y1), w = box.x(x1) - left, h = box.y(y0) - top;
        g.imageSmoothingEnabled = !mark.hard;
        g.drawImage(picture, left, top, w, h);
        g.strokeStyle = css(theme.ink, mark.classes ? 0.7 : 0.22);
        g.lineWidth = mark.classes ? 1.5 : 0.8;
        const solid = edges.dashed || edges.length;
        segments(g, edges, 0, solid, left, top, w, h);
        g.setLineDash([5, 4]);
        segments(g, edges, solid, edges.length, left, top, w, h);
        g.setLineDash([]);
      };
    },

    points(mark) {
      const series = mark.s || {};
      return (g, box, t) => {
        const i = Math.floor(t), frameOf = (s) => s[Math.min(i, s.length - 1)];
        const xs = series.x ? at(series.x.s, t) : mark.x, ys = series.y ? at(series.y.s, t) : mark.y;
        const sizes = series.r && frameOf(series.r.s), classes = series.c && frameOf(series.c.s);
        const inside = series.in && frameOf(series.in.s);
        const base = mark.size || (xs.length > 1500 ? 1.6 : xs.length > 300 ? 2.4 : 3.2);
        g.lineWidth = mark.centre ? 2 : 0.7;
        for (let k = 0; k < xs.length; k++) {
          const which = classes ? letter(classes, k) : mark.c ? mark.c[k] : mark.colour || 0;
          const c = mark.v ? signed(mark.v[k]) : colour(which);
          const r = sizes ? 1 + letter(sizes, k) * 0.16 : base;
          shape(g, mark.round ? 0 : which, box.x(xs[k]), box.y(ys[k]), r);
          g.globalAlpha = inside && !letter(inside, k) ? 0.3 : 1;
          g.fillStyle = css(c, 0.9);
          g.fill();
          g.strokeStyle = css(mark.centre || mark.v ? theme.ink : theme.page);
          g.stroke();
        }
        g.globalAlpha = 1;
        const bad = series.bad && frameOf(series.bad.s);
        for (let k = 0; bad && k < bad.length; k++)
          if (letter(bad, k)) drawCross(g, box.x(xs[k]), box.y(ys[k]), 3.4);
        if (series.on) ring(g, box, xs, ys, frameOf(series.on.s));
      };
    },

    trail(mark) {
      const steps = mark.x.map((_, k) => k).filter((k) => mark.x[k] !== null && mark.y[k] !== null);
      const xs = steps.map((k) => mark.x[k]), ys = steps.map((k) => mark.y[k]);
      return (g, box, t) => {
        const n = steps.findLastIndex((k) => k <= t), c = colour(mark.colour);
        if (mark.dash) g.setLineDash(mark.dash);
        g.strokeStyle = css(c, 0.28);
        g.lineWidth = 1.3;
        polyline(g, box, xs, ys);
        if (n < 0) return g.setLineDash([]);
        const after = Math.min(n + 1, steps.length - 1);
        const share = after > n && steps[after] - steps[n] === 1 ? t - steps[n] : 0;
        const x = between(xs[n], xs[after], share), y = between(ys[n], ys[after], share);
        g.strokeStyle = css(c);
        g.lineWidth = 2.2;
        polyline(g, box, [...xs.slice(0, n + 1), x], [...ys.slice(0, n + 1), y]);
        g.setLineDash([]);
        shape(g, 0, box.x(x), box.y(y), 4.5);
        g.fillStyle = css(c);
        g.fill();
        g.strokeStyle = css(theme.page);
        g.lineWidth = 1.2;
        g.stroke();
      };
    },

    line(mark) {
      return (g, box, t) => {
        const ys = mark.s ? at(mark.s, t) : mark.y;
        g.strokeStyle = css(colour(mark.colour));
        g.lineWidth = mark.width || 2.2;
        if (mark.dash) g.setLineDash(mark.dash);
        polyline(g, box, mark.x, ys);
        g.setLineDash([]);
      };
    },

    ellipses(mark) {
      return (g, box, t) => {
        at(mark.s, t).forEach(([cx, cy, a, b, d], k) => {
          for (const radius of [1, 2]) {
            g.beginPath();
            for (let j = 0; j <= 60; j++) {
              const u = radius * Math.cos((j * Math.PI) / 30), v = radius * Math.sin((j * Math.PI) / 30);
              const x = box.x(cx + a * u), y = box.y(cy + b * u + d * v);
              if (j) g.lineTo(x, y); else g.moveTo(x, y);
            }
            g.strokeStyle = css(colour(k), radius === 1 ? 1 : 0.6);
            g.lineWidth = 2;
            g.stroke();
          }
        });
      };
    },

    bars(mark) {
      return (g, box, t) => {
        const values = at(mark.s, t), zero = box.x(0), old = mark.before && at(mark.before.s, t);
        values.forEach((value, k) => {
          if (value === null) return;
          const y = box.y(k), c = mark.c ? colour(mark.c[k]) : signed(value < 0 ? -1 : 1);
          g.fillStyle = css(c, 0.85);
          g.fillRect(Math.min(zero, box.x(value)), y - 7, Math.abs(box.x(value) - zero), 14);
          if (old) line(g, box.x(old[k]), y - 9, box.x(old[k]), y + 9);
        });
        g.strokeStyle = css(theme.ink);
        g.lineWidth = 1;
        line(g, zero, box.top, zero, box.bottom);
      };
    },
  };

  function segments(g, edges, from, to, left, top, w, h) {
    g.beginPath();
    for (let k = from; k < to; k += 4) {
      g.moveTo(left + edges[k] * w, top + edges[k + 1] * h);
      g.lineTo(left + edges[k + 2] * w, top + edges[k + 3] * h);
    }
    g.stroke();
  }

  function ring(g, box, xs, ys, rows) {
    for (const k of rows) {
      shape(g, 0, box.x(xs[k]), box.y(ys[k]), 7.5);
      g.strokeStyle = css(theme.page);
      g.lineWidth = 3.5;
      g.stroke();
      g.strokeStyle = css(theme.ink);
      g.lineWidth = 1.7;
      g.stroke();
    }
  }

  /** Colour the cells, and list the lines between classes, bands or sides of the margin. */
  function fillGrid(picture, mark, cells, edges) {
    const { nx, ny, levels } = mark, g = picture.getContext("2d");
    const image = g.createImageData(nx, ny), pixels = new Uint32Array(image.data.buffer);
    const shades = shadesOf(mark);
    for (let k = 0; k < nx * ny; k++) pixels[k] = shades[letter(cells, k)];
    g.putImageData(image, 0, 0);
    edges.length = 0;
    if (mark.bare) return;
    if (!mark.classes) {
      const fine = levels / mark.bands;
      const steps = Array.from({ length: mark.bands - 1 }, (_, k) => (k + 1) * fine - 0.5);
      isolines(mark, edges, (k) => letter(cells, k), steps);
      return;
    }
    outline(mark, cells, edges);
    if (!mark.margin) return;
    const field = (k) => (letter(cells, k) < levels ? -1 : 1) * lead(mark, letter(cells, k));
    edges.dashed = edges.length;
    isolines(mark, edges, field, [-mark.margin, mark.margin]);
  }

  /** The colour of each value that a cell can have, as four bytes. */
  function shadesOf({ classes, levels, bands, diverging, colour: which }) {
    const shades = new Uint32Array(Math.max(1, classes) * levels);
    const bytes = new Uint8ClampedArray(shades.buffer);
    for (let value = 0; value < shades.length; value++) {
      let c, alpha = 255;
      if (classes) {
        c = colour(Math.floor(value / levels));
        alpha = 40 + Math.round(105 * Math.sqrt(lead({ levels }, value)));
      } else if (diverging) c = signed(((2 * value) / (levels - 1) - 1) * 0.75);
      else {
        const band = Math.floor((value * bands) / levels);
        c = mix(colour(which || 0), theme.page, 0.25 + (0.75 * band) / Math.max(1, bands - 1));
      }
      bytes.set([c[0], c[1], c[2], alpha], 4 * value);
    }
    return shades;
  }

  /** Call `visit` with the four neighbouring cells of every corner: their indices, and where it is. */
  function blocks({ nx, ny }, visit) {
    for (let row = -1; row < ny; row++)
      for (let col = -1; col < nx; col++) {
        const x0 = Math.max(0, col), x1 = Math.min(nx - 1, col + 1);
        const y0 = Math.max(0, row) * nx, y1 = Math.min(ny - 1, row + 1) * nx;
        visit(y0 + x0, y0 + x1, y1 + x1, y1 + x0, col, row);
      }
  }

  /** The centres of the four cells of a block, as shares of the picture. */
  function corners({ nx, ny }, col, row) {
    const place = (k, n) => Math.max(0, Math.min(1, (k + 0.5) / n));
    const left = place(col, nx), right = place(col + 1, nx), top = place(row, ny), low = place(row + 1, ny);
    return [[left, top], [right, top], [right, low], [left, low]];
  }

  /** Join the crossings on the sides of a block: two by a line, more of them at their middle. */
  function join(edges, found, middle) {
    if (found.length === 2 && !middle) return edges.push(...found[0], ...found[1]);
    const mean = (axis) => found.reduce((sum, p) => sum + p[axis], 0) / found.length;
    const [x, y] = middle || [mean(0), mean(1)];
    for (const p of found) edges.push(p[0], p[1], x, y);
  }

  /** The lines between classes; a level says how far a cell is from the nearest other class. */
  function outline(mark, cells, edges) {
    const area = Uint8Array.from(cells, (c) => (c.charCodeAt(0) - FIRST) / mark.levels);
    blocks(mark, (i, j, k, l, col, row) => {
      const own = area[i];
      if (own === area[j] && own === area[k] && own === area[l]) return;
      const values = [letter(cells, i), letter(cells, j), letter(cells, k), letter(cells, l)];
      const classes = [own, area[j], area[k], area[l]];
      const at = corners(mark, col, row), found = [];
      for (let side = 0; side < 4; side++) {
        const next = (side + 1) % 4;
        if (classes[side] === classes[next]) continue;
        const a = lead(mark, values[side]), b = lead(mark, values[next]);
        found.push(along(at[side], at[next], mark.hard ? 0.5 : a / (a + b)));
      }
      join(edges, found, mark.hard && along(at[0], at[2], 0.5));
    });
  }

  // Levels are finer where the lead is small, so that the lines are smooth.
  const lead = ({ levels }, value) => (((value % levels) + 0.5) / levels) ** 4;
  const along = (p, q, share) => [p[0] + (q[0] - p[0]) * share, p[1] + (q[1] - p[1]) * share];

  /** The lines on which a function of the cells has the given heights. */
  function isolines(mark, edges, field, heights) {
    blocks(mark, (i, j, k, l, col, row) => {
      const values = [field(i), field(j), field(k), field(l)];
      const low = Math.min(...values), high = Math.max(...values);
      if (low === high) return;
      const at = corners(mark, col, row);
      for (const height of heights) {
        if (height < low || height > high) continue;
        const found = [];
        for (let side = 0; side < 4; side++) {
          const a = values[side] - height, b = values[(side + 1) % 4] - height;
          if (a < 0 !== b < 0) found.push(along(at[side], at[(side + 1) % 4], a / (a - b)));
        }
        join(edges, found);
      }
    });
  }

  // Trees -----------------------------------------------------------------------------------------

  /** The nodes stand where the largest tree has them; at each step they are absent, leaves or splits.
      The nodes of a level are as wide as their nearest neighbours allow. */
  function tree(spec, host) {
    const levels = [];
    for (const node of spec.nodes) (levels[node.depth] ||= []).push(node.x);
    for (const level of levels) level.sort((a, b) => a - b);
    const narrow = (w) => Math.max(12, Math.min(130, ((w - 8) / spec.leaves) * 0.92));
    const across = (w, x) => 3 + narrow(w) / 2 + x * (w - 6 - narrow(w));
    function boxes(w) {
      let top = 4;
      return levels.map((level) => {
        const at = level.map((x) => across(w, x));
        const edge = 2 * Math.min(at[0] - 3, w - 3 - at[at.length - 1]);
        const gaps = at.slice(1).map((x, k) => (x - at[k]) * 0.92);
        const wide = Math.max(narrow(w), Math.min(130, edge, ...gaps)), high = wide < 34 ? 16 : 56;
        const box = { wide, high, top };
        top += high + 22;
        return box;
      });
    }
    const height = (w) => boxes(w).reduce((sum, box) => sum + box.high + 22, 14);
    return canvasPanel(spec, host, height, (g, w, h, t) => {
      const i = Math.floor(t), parts = spec.s[i], now = spec.now[i], box = boxes(w);
      g.textAlign = "center";
      g.textBaseline = "top";
      spec.nodes.forEach((node, k) => {
        if (!letter(parts, k) || node.parent < 0) return;
        const above = spec.nodes[node.parent], from = box[above.depth];
        g.strokeStyle = css(theme.muted);
        g.lineWidth = 1.2;
        line(g, across(w, above.x), from.top + from.high, across(w, node.x), box[node.depth].top);
      });
      spec.nodes.forEach((node, k) => {
        const part = letter(parts, k), { wide, high, top } = box[node.depth];
        const where = [across(w, node.x), top, wide, high];
        if (part) drawNode(g, node, where, part === 2, k === now, spec.regression);
      });
    });
  }

  function drawNode(g, node, [x, y, wide, high], split, current, regression) {
    const left = x - wide / 2;
    g.fillStyle = css(theme.page);
    g.fillRect(left, y, wide, high);
    let from = left;
    node.share.forEach((part, k) => {
      g.fillStyle = regression ? css(signed(part)) : css(colour(k), 0.85);
      const width = regression ? wide : wide * part;
      g.fillRect(from, y, width, 8);
      from += width;
    });
    g.strokeStyle = css(current ? theme.ink : theme.muted);
    g.lineWidth = current ? 3 : 1;
    g.strokeRect(left, y, wide, high);
    if (wide < 34) return;
    g.fillStyle = css(theme.ink);
    g.font = wide < 80 ? "10px system-ui, sans-serif" : "12px system-ui, sans-serif";
    const fits = g.measureText(node.rows).width <= wide - 6;
    const rows = fits ? node.rows : node.rows.replace("n = ", "");
    const texts = split ? [...node.test, rows] : [node.says, rows];
    texts.forEach((text, k) => g.fillText(cut(g, text, wide - 6), x, y + 12 + 14 * k));
  }

  // Weight matrices and tables --------------------------------------------------------------------

  function matrices(spec, host) {
    const columns = spec.layers.reduce((sum, layer) => sum + layer.cols, 0);
    const rows = Math.max(...spec.layers.map((layer) => layer.rows));
    const cell = (w) => Math.max(2, Math.min(26, (w - 14 * spec.layers.length) / columns, 240 / rows));
    return canvasPanel(spec, host, (w) => 30 + cell(w) * rows, (g, w, h, t) => {
      const size = cell(w);
      let left = 2;
      g.textBaseline = "top";
      g.textAlign = "left";
      for (const layer of spec.layers) {
        const text = layer.s[Math.floor(t)];
        g.fillStyle = css(theme.ink, 0.85);
        g.fillText(cut(g, layer.name, size * layer.cols + 12), left, 2);
        for (let k = 0; k < layer.rows * layer.cols; k++) {
          g.fillStyle = css(signed((letter(text, k) - 40) / 40));
          g.fillRect(left + size * (k % layer.cols), 22 + size * Math.floor(k / layer.cols), size, size);
        }
        g.strokeStyle = css(theme.muted);
        g.strokeRect(left, 22, size * layer.cols, size * layer.rows);
        left += size * layer.cols + 14;
      }
    });
  }

  function table(spec, host) {
    const figure = element("figure", spec.wide ? "panel wide" : "panel");
    const scroll = element("div", "scroll"), made = element("table"), body = element("tbody");
    const head = element("thead"), names = element("tr");
    for (const name of spec.head) names.append(element("th", "", name));
    head.append(names);
    made.append(element("caption", "", spec.title), head, body);
    scroll.role = "region";
    scroll.ariaLabel = spec.title;
    scroll.append(made);
    figure.append(scroll);
    if (spec.note) figure.append(element("p", "note", spec.note));
    host.append(figure);
    let shown = null;
    function draw(t) {
      const rows = spec.s[Math.floor(t)] || [];
      if (rows === shown) return;
      shown = rows;
      body.replaceChildren(...rows.map((cells, k) => {
        const row = element("tr", k === 0 && spec.first ? "best" : "");
        row.append(...cells.map((cell) => element("td", typeof cell === "number" ? "n" : "", number(cell))));
        return row;
      }));
      // A table that is wider than its room takes the focus, so that arrow keys move it.
      if (scroll.scrollWidth > scroll.clientWidth) scroll.tabIndex = 0;
      else scroll.removeAttribute("tabindex");
    }
    return { layout() { shown = null; }, draw };
  }

  const PANELS = { chart, tree, matrices, table };

  // The player ------------------------------------------------------------------------------------

  function play(data) {
    const n = data.sentences.length, last = n - 1;
    const panels = data.panels.map((spec) => PANELS[spec.kind](spec, $("panels")));
    let t = 0, running = false, before = 0, waiting = false, said = -1;
    let speed = SPEEDS.findIndex((s) => s >= Math.min(30, Math.max(1, n / 25)));

    function show() {
      waiting = false;
      const moment = still.matches ? Math.floor(t) : t;
      for (const panel of panels) panel.draw(moment);
      const i = Math.floor(t);
      if (i === said) return;
      said = i;
      $("sentence").textContent = data.sentences[i];
      $("counter").textContent = `${i + 1} / ${n}`;
      $("scrub").value = i;
      $("scrub").setAttribute("aria-valuetext", `step ${i + 1} of ${n}`);
      for (const id of ["first", "back"]) $(id).disabled = i === 0;
      for (const id of ["next", "last"]) $(id).disabled = i === last;
      if ($("numbers").open) fillNumbers(i);
    }

    function fillNumbers(i) {
      const rows = Object.entries(data.numbers).map(([name, values]) => [name, values[i]]);
      $("values").replaceChildren(...rows.filter(([, value]) => value !== null).map(([name, value]) => {
        const row = element("tr"), head = element("th", "", name);
        head.scope = "row";
        row.append(head, element("td", "n", number(value)));
        return row;
      }));
    }

    function redraw() {
      if (!waiting) requestAnimationFrame(show);
      waiting = true;
    }

    function go(i) {
      t = Math.max(0, Math.min(last, i));
      redraw();
    }

    function run(on) {
      running = on && last > 0;
      if (running && t >= last) t = 0;
      $("play").textContent = running ? "Pause" : "Play";
      $("sentence").setAttribute("aria-live", running ? "off" : "polite");
      if (running) {
        before = performance.now();
        requestAnimationFrame(tick);
      } else go(Math.round(t));
    }

    function tick(now) {
      if (!running) return;
      t = Math.min(last, t + (Math.max(0, now - before) / 1000) * SPEEDS[speed]);
      before = now;
      show();
      if (t >= last) run(false); else requestAnimationFrame(tick);
    }

    function step(by) {
      run(false);
      go(Math.round(t) + by);
    }

    function setSpeed(to) {
      speed = Math.max(0, Math.min(SPEEDS.length - 1, to));
      $("speed").value = speed;
    }

    const KEYS = {
      " ": () => run(!running), ArrowLeft: () => step(-1), ArrowRight: () => step(1),
      ArrowDown: () => step(-1), ArrowUp: () => step(1), PageUp: () => step(Math.ceil(n / 10)),
      PageDown: () => step(-Math.ceil(n / 10)), Home: () => step(-n), End: () => step(n),
      "+": () => setSpeed(speed + 1), "-": () => setSpeed(speed - 1),
    };

    function listen() {
      $("first").onclick = KEYS.Home;
      $("back").onclick = KEYS.ArrowLeft;
      $("play").onclick = KEYS[" "];
      $("next").onclick = KEYS.ArrowRight;
      $("last").onclick = KEYS.End;
      $("scrub").oninput = () => { run(false); go(Number($("scrub").value)); };
      $("speed").onchange = () => setSpeed(Number($("speed").value));
      $("numbers").ontoggle = () => fillNumbers(Math.floor(t));
      document.addEventListener("keydown", (event) => {
        const tag = event.target.tagName, key = KEYS[event.key];
        if (!key || event.altKey || event.ctrlKey || event.metaKey || tag === "SELECT") return;
        if (event.target.className === "scroll" && /Left|Right/.test(event.key)) return;
        if (event.key === " " && (tag === "BUTTON" || tag === "SUMMARY")) return;
        event.preventDefault();
        key();
      });
      addEventListener("hashchange", fromAddress);
      dark.addEventListener("change", layout);
      new ResizeObserver(layout).observe($("panels"));
    }

    function fromAddress() {
      const found = /[#&]step=(\d+)/.exec(location.hash);
      if (found) go(Number(found[1]) - 1);
    }

    function layout() {
      theme = readTheme(data.palette);
      for (const panel of panels) panel.layout();
      show();
    }

    SPEEDS.forEach((s, k) => {
      const option = element("option", "", s === 1 ? "1 step per second" : `${s} steps per second`);
      option.value = k;
      $("speed").append(option);
    });
    setSpeed(speed);
    $("scrub").max = last;
    for (const control of document.querySelectorAll("#controls [disabled]")) control.disabled = false;
    listen();
    layout();
    fromAddress();
    document.body.dataset.ready = "yes";
  }

  async function start() {
    if (typeof DecompressionStream === "undefined") {
      $("sentence").textContent = "This browser is too old for the player. Open the file in a browser of 2023 or later.";
      return;
    }
    const data = await read();
    complete(data.panels);
    theme = readTheme(data.palette);
    play(data);
  }

  start();
})();
