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
