// The table of the marks in the visible time range.
const batch = 100;
let limit = batch;

function drawRecords() {
  const within = shown.marks.filter((m) => m.at + m.took >= span.from && m.at <= span.to);
  const count = byId("records-count");
  count.textContent = within.length > limit ? `${within.length.toLocaleString("en")}, first ${limit} shown` : within.length.toLocaleString("en");
  count.dataset.records = within.length;
  byId("more").hidden = within.length <= limit;
  byId("records-body").replaceChildren(...within.sort((a, b) => a.at - b.at).slice(0, limit).map((m) => labelCells(recordRow(m), byId("records-body").parentElement)));
}

function recordRow(m) {
  const row = element("tr", undefined, m.tone === "fine" ? "" : m.tone);
  if (m === lanes.selected) row.classList.add("selected");
  const at = element("td", undefined, "number");
  const go = element("button", seconds(m.at, 1), "go");
  go.type = "button";
  go.addEventListener("click", () => select(m));
  at.append(go);
  row.append(at);
  for (const [text, className] of [[m.controller, "wrap"], [m.kind === "sync" ? `sync ${m.what}` : m.what, "wrap"], [m.about, "name"], [m.took ? duration(m.took) : "", "number"], [m.note, "text"]]) {
    const cell = element("td", undefined, className);
    cell.append(element("bdi", text));
    row.append(cell);
  }
  return row;
}
