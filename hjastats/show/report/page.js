"use strict";
const byId = (id) => document.getElementById(id);
const make = (tag, properties) => Object.assign(document.createElement(tag), properties);

// Sort a table by the column whose heading was activated; missing values stay last.
function compare(a, b) {
  if (a === "" || b === "") return (a === "") - (b === "");
  const x = Number(a), y = Number(b);
  return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
}
function sortBy(table, column, sign) {
  const body = table.tBodies[0], rows = Array.from(body.rows, (row) => [row.cells[column].dataset.order, row]);
  rows.sort(([a], [b]) => (a === "" || b === "" ? compare(a, b) : sign * compare(a, b)));
  body.append(...rows.map(([, row]) => row));
}
for (const table of document.querySelectorAll("table.sortable")) {
  for (const heading of table.tHead.rows[0].cells) {
    const button = make("button", { type: "button", textContent: heading.textContent });
    heading.replaceChildren(button);
    heading.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const direction = heading.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
      heading.setAttribute("aria-sort", direction);
      sortBy(table, heading.cellIndex, direction === "ascending" ? 1 : -1);
    });
  }
  const n = table.tBodies[0].rows.length;
  if (n > 8) addFilter(table);
  if (n > 20) shorten(table, n);
}

// Long tables begin with the first fifteen rows, and say so.
function shorten(table, n) {
  const button = make("button", { type: "button", className: "more", textContent: `Show all ${n} rows (15 are shown)` });
  button.addEventListener("click", () => {
    table.classList.remove("short");
    button.remove();
  });
  table.classList.add("short");
  (table.parentElement.classList.contains("scroll") ? table.parentElement : table).after(button);
}

// Show the rows that contain some words.
function addFilter(table) {
  const label = make("label", { className: "filter", textContent: "Filter " });
  const field = make("input", { type: "search" });
  const count = make("span", { className: "gist" });
  count.setAttribute("role", "status");
  label.append(field);
  const line = make("p", { className: "controls filter" });
  line.append(label, count);
  (table.parentElement.classList.contains("scroll") ? table.parentElement : table).before(line);
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    let shown = 0;
    table.parentElement.querySelector(":scope > button.more")?.click();
    for (const row of table.tBodies[0].rows) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
      shown += !row.hidden;
    }
    count.textContent = wanted ? `${shown} of ${table.tBodies[0].rows.length} rows` : "";
  });
}

// Say where a table is cut at the right.
const cut = () => {
  for (const box of document.querySelectorAll(".scroll")) box.classList.toggle("cut", box.scrollWidth > box.clientWidth + 1);
};
addEventListener("resize", cut);
for (const folded of document.querySelectorAll("details")) folded.addEventListener("toggle", cut);
cut();

// Folded sections open where a link leads into them, and on paper.
function unfold() {
  let target = location.hash.length > 1 ? byId(decodeURIComponent(location.hash.slice(1))) : null;
  for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", unfold);
unfold();
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("main > details:not([open])")];
  for (const section of folded) section.open = true;
});
addEventListener("afterprint", () => { for (const section of folded) section.open = false; });
for (const link of document.querySelectorAll("a.csv")) {
  link.addEventListener("click", (event) => { event.preventDefault(); byId(link.hash.slice(1)).click(); });
}

// Sections beside each other become tabs; arrow keys go from one to the next.
document.querySelectorAll(".tabs").forEach((tabs, which) => {
  const panels = [...tabs.querySelectorAll(":scope > .tab")];
  if (panels.length < 2) return;
  const list = make("div", { className: "tablist" });
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", tabs.getAttribute("aria-label") || "Views");
  const buttons = panels.map((panel, number) => {
    const button = make("button", { type: "button", textContent: panel.dataset.tab, id: `tab-${which}-${number}` });
    panel.id ||= `panel-${which}-${number}`;
    button.setAttribute("role", "tab");
    button.setAttribute("aria-controls", panel.id);
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", button.id);
    button.addEventListener("click", () => choose(number));
    button.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      choose((number + step + panels.length) % panels.length).focus();
    });
    return button;
  });
  function choose(number) {
    buttons.forEach((button, other) => {
      button.setAttribute("aria-selected", String(other === number));
      button.tabIndex = other === number ? 0 : -1;
      panels[other].hidden = other !== number;
    });
    cut();
    return buttons[number];
  }
  list.append(...buttons);
  tabs.prepend(list);
  choose(0);
});

// Any two items, by the consensus or by one judge.
const known = byId("numbers") ? JSON.parse(byId("numbers").textContent) : null;
const ELO = 400 / Math.LN10, Z = 1.959963984540054;
const chance = (x) => 1 / (1 + Math.exp(-x));
const scale = () => document.querySelector('input[name="scale"]:checked')?.value || "elo";

function viewed() {
  const judge = known.judges[byId("view").value];
  return judge || { name: "", scores: known.scores, errors: known.errors, pairs: known.pairs };
}
function errorOf(view, i, j) {
  if (!view.pairs) return NaN;
  const low = Math.min(i, j), high = Math.max(i, j), n = known.items.length;
  return view.pairs[low * n - (low * (low + 1)) / 2 + high - low - 1] ?? NaN;
}
function answer() {
  const i = Number(byId("first-item").value), j = Number(byId("second-item").value), view = viewed();
  const span = byId("answer-span"), [box, mark] = [span.querySelector("rect"), span.querySelector(".mark")];
  for (const row of byId("ranking-table").tBodies[0].rows) {
    const other = Number(row.dataset.item), near = Math.abs(known.scores[other] - known.scores[i]) <= known.critical * errorOf(known, other, i);
    row.classList.toggle("picked", other === i || other === j);
    row.classList.toggle("open", !view.name && other !== i && near);
    row.querySelector(".range").title = row.classList.contains("open") ? `cannot be told from ${known.items[i]}` : "";
  }
  byId("picked").textContent = known.items[i];
  const difference = view.scores[i] - view.scores[j], error = errorOf(view, i, j), p = chance(difference);
  const who = view.name || "A judge of average sensitivity", [a, b] = [known.items[i], known.items[j]];
  if (i === j || Number.isNaN(difference) || view.scores[i] === null || view.scores[j] === null) {
    byId("answer").textContent = i === j ? "Choose two different items." : "There is no finite score to compare.";
    box.setAttribute("width", 0);
    return;
  }
  const [low, high] = [chance(difference - Z * error), chance(difference + Z * error)];
  const told = (x) => (scale() === "elo" ? `${(ELO * x).toFixed(0)} Elo points` : `${x.toFixed(2)} log-odds`);
  const between = (x, y) => (scale() === "elo" ? `${(ELO * x).toFixed(0)} to ${(ELO * y).toFixed(0)}` : `${x.toFixed(2)} to ${y.toFixed(2)}`);
  let text = `${who} prefers ${a} to ${b} with probability ${p.toFixed(3)}`;
  if (Number.isNaN(error)) {
    text += `. The difference is ${told(difference)}; its interval is not part of this page.`;
  } else {
    const alone = Math.abs(difference) > Z * error, jointly = Math.abs(difference) > known.critical * error;
    text += ` (95% interval ${low.toFixed(3)} to ${high.toFixed(3)}). The difference is ${told(difference)} (${between(difference - Z * error, difference + Z * error)}). `;
    text += view.name
      ? `For this judge the two ${alone ? "differ" : "cannot be told apart"}.`
      : jointly
        ? "They differ, also when all pairs are compared at once."
        : alone
          ? "They differ if this is the only pair you ask about, but not when all pairs are compared at once."
          : "They cannot be told apart.";
  }
  byId("answer").textContent = text;
  box.setAttribute("x", 1000 * (Number.isNaN(error) ? p : low));
  box.setAttribute("width", Number.isNaN(error) ? 0 : 1000 * (high - low));
  for (const end of ["x1", "x2"]) mark.setAttribute(end, 1000 * p);
}

// The leaderboard by the scores of one judge: places and scores, without what holds for all items at once.
function variances(view) {
  const n = known.items.length, rates = [], errors = [];
  for (let i = 0; i < n; i++) {
    const slopes = [];
    let sum = 0, rate = 0;
    for (let j = 0; j < n; j++) {
      const p = chance(view.scores[i] - view.scores[j]);
      slopes[j] = j === i ? 0 : -(p * (1 - p)) / (n - 1);
      sum -= slopes[j];
      rate += j === i ? 0 : p / (n - 1);
    }
    slopes[i] = sum;
    let variance = 0;
    for (let k = 0; k < n; k++) for (let j = k + 1; j < n; j++) variance -= slopes[k] * slopes[j] * errorOf(view, k, j) ** 2;
    rates[i] = rate;
    errors[i] = Math.sqrt(variance);
  }
  return [rates, errors];
}
function show() {
  const view = viewed(), table = byId("ranking-table"), body = table.tBodies[0], note = byId("view-note");
  const order = view.scores.map((score, i) => [score ?? -Infinity, i]).sort((a, b) => b[0] - a[0]).map(([, i]) => i);
  const [rates, errors] = variances(view);
  for (const row of body.rows) {
    const i = Number(row.dataset.item), place = order.indexOf(i) + 1;
    const score = view.scores[i], error = view.errors ? view.errors[i] : NaN;
    row.cells[0].textContent = place;
    row.cells[0].dataset.order = place;
    for (const cell of row.querySelectorAll(".places > *, .chance")) cell.style.visibility = view.name ? "hidden" : "";
    const half = (Z * errors[i]) / (rates[i] * (1 - rates[i])), logit = Math.log(rates[i] / (1 - rates[i]));
    const cells = {
      elo: [score, Z * error, (x) => (1000 + ELO * x).toFixed(0)],
      "win-rate": [logit, half, (x) => chance(x).toFixed(3)],
      "log-odds": [score, Z * error, (x) => x.toFixed(2)],
    };
    for (const [name, [middle, width, tell]] of Object.entries(cells)) {
      const [value, interval] = row.querySelector(`.score > .${name}`).children;
      value.textContent = score === null ? "–" : tell(middle);
      interval.textContent = score === null || Number.isNaN(width) ? "" : `${tell(middle - width)} to ${tell(middle + width)}`;
    }
    row.querySelector(".score").dataset.order = score ?? "";
  }
  sortBy(table, 0, 1);
  note.hidden = !view.name;
  note.textContent = view.name ? `Places and scores by ${view.name} alone. Possible places and chances are those of the consensus, and hidden.` : "";
  answer();
}
if (known) {
  for (const element of document.querySelectorAll(".script")) element.hidden = false;
  const names = known.items.map((item, i) => [item, i]).sort(([a], [b]) => a.localeCompare(b, undefined, { numeric: true }));
  for (const [id, chosen] of [["first-item", 0], ["second-item", Math.min(1, known.items.length - 1)]]) {
    byId(id).append(...names.map(([item, i]) => new Option(item, i, i === chosen, i === chosen)));
    byId(id).addEventListener("change", answer);
  }
  known.judges.forEach((judge, k) => byId("view").append(new Option(judge.name, k)));
  byId("view-label").hidden = !known.judges.length;
  byId("view").addEventListener("change", show);
  byId("swap").addEventListener("click", () => {
    const [first, second] = [byId("first-item"), byId("second-item")];
    [first.value, second.value] = [second.value, first.value];
    answer();
  });
  for (const choice of document.querySelectorAll('input[name="scale"]')) choice.addEventListener("change", answer);
  answer();
}
