// labelCells gives the numbers of a row the heading of their column: on a small screen the
// headings are not shown.
function labelCells(row, table) {
  const heads = table.tHead ? [...table.tHead.rows[0].cells] : [];
  [...row.cells].forEach((cell, i) => {
    if (heads[i] && cell.classList.contains("number") && cell.textContent) cell.dataset.label = heads[i].textContent;
  });
  return row;
}
for (const table of document.querySelectorAll("section table")) for (const row of table.tBodies[0].rows) labelCells(row, table);

// Search in the static tables.
const rows = [...document.querySelectorAll("section tbody tr")].map((row) => ({ row, text: row.textContent.toLowerCase() }));
const counts = [...document.querySelectorAll("[data-count]")].map((count) => {
  const body = count.closest("section").querySelector("tbody");
  return { count, rows: body ? [...body.rows] : [] };
});

const found = (some, all) => (all === 0 ? "" : some === all ? all.toLocaleString("en") : `${some.toLocaleString("en")} of ${all.toLocaleString("en")}`);

function searchTables() {
  for (const { row, text } of rows) row.hidden = !matches(text);
  for (const { count, rows: all } of counts) count.textContent = found(all.filter((row) => !row.hidden).length, all.length);
  byId("found").textContent = shown.terms.length ? `${shown.marks.length.toLocaleString("en")} of ${marks.length.toLocaleString("en")} records` : "";
}
