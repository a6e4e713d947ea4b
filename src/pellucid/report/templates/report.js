"use strict";
(() => {
  const all = (where, what) => [...where.querySelectorAll(what)];
  const read = (where) => JSON.parse(where.querySelector("script[type='application/json']").textContent);
  all(document, ".js").forEach((part) => (part.hidden = false));

  // Tables: a click on a column head sorts by the values of data-v, numbers as numbers.
  const order = (a, b) => {
    const [x, y] = [Number(a), Number(b)];
    if (a === "" || b === "") return (a === "") - (b === "");
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
  };
  for (const table of all(document, "table.sortable")) {
    all(table, "thead th").forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        all(table, "thead th").forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0];
        const value = (row) => row.cells[column].dataset.v || "";
        const rows = [...body.rows].sort((a, b) => order(value(a), value(b)));
        body.append(...(down ? rows.reverse() : rows));
      });
    });
  }

  // Thresholds: precomputed [threshold, tp, fp, fn, tn]. The slider updates the confusion matrix of the
  // card and the rings on its curves.
  const share = (part, whole) => (whole ? (100 * part / whole).toFixed(1) + " %" : "n/a");
  const count = (amount) => amount.toLocaleString("en-US");
  const percent = (p) =>
    p === null ? "" : p > 0 && p < 0.01 ? "<1 %" : p > 0.99 && p < 1 ? ">99 %" : (100 * p).toFixed(0) + " %";
  const shade = (p) => (p === null ? "" : "s" + Math.min(9, Math.floor(p * 10)));
  const follow = (card, [cut, tp, fp, fn, tn]) => {
    const matrix = card.querySelector("table.confusion");
    if (matrix) {
      matrix.dataset.cut = cut;
      matrix.querySelector(".at").textContent = ` at threshold ${cut.toFixed(3)}`;
      const totals = [tn + fp, tn + fp, fn + tp, fn + tp];
      all(matrix, "td").forEach((cell, k) => {
        const amount = [tn, fp, fn, tp][k];
        const part = totals[k] ? amount / totals[k] : null;
        cell.querySelector("b").textContent = count(amount);
        cell.querySelector("span").textContent = percent(part);
        cell.className = shade(part) + (k === 0 || k === 3 ? " right" : "");
      });
    }
    const recall = tp / (tp + fn || 1);
    const places = { roc: [fp / (fp + tn || 1), recall], pr: [recall, tp / (tp + fp || 1)] };
    for (const [kind, [x, y]] of Object.entries(places)) {
      const ring = card.querySelector(`.curve-${kind} .pl-ring`);
      if (!ring) continue;
      ring.setAttribute("cx", x * ring.dataset.width);
      ring.setAttribute("cy", (1 - y) * ring.dataset.height);
    }
  };
  for (const box of all(document, ".threshold")) {
    const rows = read(box);
    const pick = (what) => box.querySelector(what);
    const cost = (row) => row[2] * pick(".cost-fp").value + row[3] * pick(".cost-fn").value;
    const show = () => {
      const row = rows[pick(".cut").value];
      const [cut, tp, fp, fn, tn] = row;
      pick("output").textContent = cut.toFixed(3);
      pick(".found").textContent =
        `Recall ${share(tp, tp + fn)} (${count(tp)} of ${count(tp + fn)}; false negatives: ${count(fn)}); ` +
        `precision ${share(tp, tp + fp)}; false-positive rate ${share(fp, fp + tn)} ` +
        `(false positives: ${count(fp)}). Accuracy ${share(tp + tn, tp + fp + fn + tn)}. ` +
        `Cost ${count(+cost(row).toPrecision(6))}.`;
    };
    const moved = () => { show(); follow(box.closest(".card"), rows[pick(".cut").value]); };
    const middle = rows.findIndex((row) => row[0] >= 0.5);
    pick(".cut").value = middle < 0 ? rows.length - 1 : middle;
    pick(".cut").addEventListener("input", moved);
    all(box, ".cost-fp, .cost-fn").forEach((field) => field.addEventListener("input", show));
    pick(".cheapest").addEventListener("click", () => {
      let best = 0;
      rows.forEach((row, i) => { if (cost(row) < cost(rows[best])) best = i; });
      pick(".cut").value = best;
      moved();
    });
    show();
  }

  // Pairs: the slider chooses one of the precomputed tables.
  for (const box of all(document, ".pairs")) {
    const { widths, tables } = read(box);
    const slider = box.querySelector(".rope");
    if (!widths.length) { slider.closest("div").hidden = true; continue; }
    slider.addEventListener("input", () => {
      const which = Number(slider.value);
      box.querySelector("output").textContent = which ? widths[which - 1] : "0";
      box.querySelector(".pairs-caption").textContent = which
        ? `Probability that two models differ by at most ${widths[which - 1]}, so that they are practically equal.`
        : "Probability that the model in the row is better than the model in the column.";
      all(box, "tbody tr").forEach((row, i) => all(row, "td").forEach((cell, j) => {
        const p = i === j ? null : tables[which][i][j];
        cell.textContent = percent(p);
        cell.className = shade(p);
      }));
    });
  }

  // Rows: search by number, class or text, or by a cell of the confusion matrix. Predictions are known
  // for all rows of the lists (largest errors first), cells and contributions for the listed rows.
  const listed = all(document, ".row");
  const search = document.getElementById("row-search");
  const source = document.getElementById("row-data");
  const known = source ? JSON.parse(source.textContent) : null;
  const most = 100;
  const target = (value) => (known.labels.length ? known.labels[value] : String(value));
  const element = (name, text, ...children) => {
    const made = document.createElement(name);
    made.append(...(text === null ? children : [text]));
    return made;
  };
  const number = (row) => {
    const there = listed.find((one) => one.dataset.row === String(row));
    if (!there) return String(row);
    const link = element("button", String(row));
    link.type = "button";
    link.className = "link";
    link.title = "show this row";
    link.addEventListener("click", () => {
      there.hidden = false;
      there.open = true;
      there.scrollIntoView({ block: "center" });
    });
    return link;
  };
  const tabulate = (places, by) => {
    const heads = ["row", "actual", "predicted", ...(known.p ? [known.about] : [])];
    const body = places.slice(0, most).map((k) => element("tr", null,
      element("th", number(known.row[k])), element("td", target(known.actual[k])),
      element("td", by(k)),
      ...(known.p ? [element("td", known.p[k].toFixed(3))] : [])));
    const head = element("thead", null, element("tr", null, ...heads.map((text) => element("th", text))));
    return element("table", null, head, element("tbody", null, ...body));
  };
  const keep = (wanted, matches, word, by = (k) => target(known.predicted[k])) => {
    let shown = 0;
    for (const row of listed) {
      row.hidden = !wanted(row);
      shown += !row.hidden;
    }
    const status = document.getElementById("row-count");
    const found = document.getElementById("row-found");
    status.textContent = word ? `${shown} of ${listed.length} listed rows${word}` : "";
    if (!found) return;
    found.hidden = !word;
    found.replaceChildren();
    if (!word) return;
    const places = known.row.map((_, k) => k).filter(matches);
    const which = places.length > most ? `; the ${most} with the largest errors are listed below` : "";
    status.textContent =
      `${count(places.length)} of ${count(known.row.length)} rows${word}${which}; ${shown} shown in detail.`;
    if (places.length) found.append(tabulate(places, by));
  };
  if (search) {
    search.addEventListener("input", () => {
      const text = search.value.trim().toLowerCase();
      const holds = (value) => known.labels.length > 0 && target(value).toLowerCase().includes(text);
      keep(
        (row) => !text || row.dataset.row === text || row.textContent.toLowerCase().includes(text),
        (k) => String(known.row[k]) === text || holds(known.actual[k]) || holds(known.predicted[k]),
        text && " match");
    });
    document.getElementById("row-all").addEventListener("click", () => {
      search.value = "";
      keep(() => true, () => true, "");
    });
    for (const cell of all(document, "td[data-actual]")) {
      const go = () => {
        const { actual, predicted } = cell.dataset;
        const cut = cell.closest("table").dataset.cut;
        const by = (k) => (cut ? known.labels[+(known.p[k] >= cut)] : target(known.predicted[k]));
        const where = known ? new Map(known.row.map((row, k) => [String(row), k])) : new Map();
        const label = (row) => (where.has(row.dataset.row) ? by(where.get(row.dataset.row)) : row.dataset.predicted);
        search.value = "";
        keep((row) => row.dataset.actual === actual && label(row) === predicted,
          (k) => target(known.actual[k]) === actual && by(k) === predicted,
          `: actual ${actual}, predicted ${predicted}${cut ? ` at threshold ${(+cut).toFixed(3)}` : ""}`, by);
        document.getElementById("rows").scrollIntoView();
      };
      cell.tabIndex = 0;
      cell.setAttribute("role", "button");
      cell.title = "show the rows of this cell";
      cell.addEventListener("click", go);
      cell.addEventListener("keydown", (event) => { if (event.key === "Enter") go(); });
    }
  }

  // Cards: only open cards are printed, so one button opens them all.
  for (const button of all(document, ".open-all")) {
    const cards = all(button.closest("section"), ".card");
    button.addEventListener("click", () => {
      const open = cards.some((card) => !card.open);
      cards.forEach((card) => (card.open = open));
      button.textContent = (open ? "close all " : "open all ") + button.dataset.what;
    });
  }
})();
