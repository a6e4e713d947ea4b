"use strict";
(() => {
  const all = (where, what) => [...where.querySelectorAll(what)];
  const read = (where) => JSON.parse(where.querySelector("script[type='application/json']").textContent);
  all(document, ".js").forEach((part) => (part.hidden = false));

  // Tables: a click on a head sorts by the values behind the cells, numbers as numbers.
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

  // Thresholds: [threshold, tp, fp, fn, tn], counted beforehand.
  const share = (part, whole) => (whole ? (100 * part / whole).toFixed(1) + " %" : "n/a");
  for (const box of all(document, ".threshold")) {
    const rows = read(box);
    const pick = (what) => box.querySelector(what);
    const cost = (row) => row[2] * pick(".cost-fp").value + row[3] * pick(".cost-fn").value;
    const show = () => {
      const [cut, tp, fp, fn, tn] = rows[pick(".cut").value];
      pick("output").textContent = cut.toFixed(3);
      pick(".found").textContent =
        `Finds ${tp} of ${tp + fn} (recall ${share(tp, tp + fn)}), misses ${fn}; ${fp} false alarms among ` +
        `${fp + tn}; right when it says yes: ${share(tp, tp + fp)} (precision). ` +
        `Accuracy ${share(tp + tn, tp + fp + fn + tn)}. Cost ${+cost(rows[pick(".cut").value]).toPrecision(6)}.`;
    };
    const middle = rows.findIndex((row) => row[0] >= 0.5);
    pick(".cut").value = middle < 0 ? rows.length - 1 : middle;
    box.addEventListener("input", show);
    pick(".cheapest").addEventListener("click", () => {
      let best = 0;
      rows.forEach((row, i) => { if (cost(row) < cost(rows[best])) best = i; });
      pick(".cut").value = best;
      show();
    });
    show();
  }

  // Pairs: the width of "the same" chooses one of the tables counted beforehand.
  for (const box of all(document, ".pairs")) {
    const { widths, tables } = read(box);
    const slider = box.querySelector(".rope");
    if (!widths.length) { slider.closest("div").hidden = true; continue; }
    const percent = (p) =>
      p === null ? "" : p > 0 && p < 0.01 ? "<1 %" : p > 0.99 && p < 1 ? ">99 %" : (100 * p).toFixed(0) + " %";
    slider.addEventListener("input", () => {
      const which = Number(slider.value);
      box.querySelector("output").textContent = which ? widths[which - 1] : "0";
      box.querySelector(".pairs-says").textContent = which
        ? `How likely the two differ by at most ${widths[which - 1]}: for practical purposes the same.`
        : "How likely the model of the row is better than the model of the column.";
      all(box, "tbody tr").forEach((row, i) => all(row, "td").forEach((cell, j) => {
        const p = i === j ? null : tables[which][i][j];
        cell.textContent = percent(p);
        cell.className = p === null ? "" : "s" + Math.min(9, Math.floor(p * 10));
      }));
    });
  }

  // Rows: by number, by text, or by a cell of the confusion table.
  const rows = all(document, ".row");
  const search = document.getElementById("row-search");
  const keep = (wanted, word) => {
    let shown = 0;
    for (const row of rows) {
      row.hidden = !wanted(row);
      shown += !row.hidden;
    }
    const said = document.getElementById("row-count");
    if (said) said.textContent = word ? `${shown} of ${rows.length} listed rows${word}` : "";
    return shown;
  };
  if (search) {
    search.addEventListener("input", () => {
      const text = search.value.trim().toLowerCase();
      keep((row) => !text || row.dataset.row === text || row.textContent.toLowerCase().includes(text), text && " match");
    });
    document.getElementById("row-all").addEventListener("click", () => {
      search.value = "";
      keep(() => true, "");
    });
    for (const cell of all(document, "td[data-actual]")) {
      const go = () => {
        const { actual, said } = cell.dataset;
        keep((row) => row.dataset.actual === actual && row.dataset.said === said, `: truth ${actual}, said ${said}`);
        document.getElementById("rows").scrollIntoView();
      };
      cell.tabIndex = 0;
      cell.setAttribute("role", "button");
      cell.title = "show the listed rows of this kind";
      cell.addEventListener("click", go);
      cell.addEventListener("keydown", (event) => { if (event.key === "Enter") go(); });
    }
  }

  // Cards: paper shows what is open, so all can be opened at once.
  for (const button of all(document, ".open-all")) {
    const cards = all(button.closest("section"), ".card");
    button.addEventListener("click", () => {
      const open = cards.some((card) => !card.open);
      cards.forEach((card) => (card.open = open));
      button.textContent = (open ? "close all " : "open all ") + button.dataset.what;
    });
  }
})();
