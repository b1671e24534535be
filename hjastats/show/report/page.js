"use strict";
// Sort a table by the column whose heading was activated; missing values stay last.
function compare(a, b) {
  if (a === "" || b === "") return (a === "") - (b === "") || 0;
  const x = Number(a), y = Number(b);
  return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
}
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const heading = button.closest("th"), table = heading.closest("table");
    const column = heading.cellIndex, body = table.tBodies[0];
    const direction = heading.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
    for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", direction);
    const sign = direction === "ascending" ? 1 : -1;
    const rows = Array.from(body.rows, (row) => [row.cells[column].dataset.order, row]);
    rows.sort(([a], [b]) => (a === "" || b === "" ? compare(a, b) : sign * compare(a, b)));
    body.append(...rows.map(([, row]) => row));
  });
}
