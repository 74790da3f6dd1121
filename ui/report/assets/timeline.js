// The lanes: one row per stage of the run, then one lane per controller, with syncs
// as bars and writes, or lines of output, below them.
const lanes = { list: [], view: null, height: 0, selected: null };
const bar = 6, gap = 1, writeRoom = 8, padding = 5, stageHeight = 17, mostRows = 5;

// layLanes computes the position of each controller with visible marks. Overlapping
// syncs get separate rows.
function layLanes() {
  const narrow = gutter(byId("lanes").clientWidth) === 0;
  const list = data.lanes.map((name) => ({ name, marks: [], ends: [], busy: false }));
  for (const m of shown.marks) {
    const lane = list[m.lane];
    lane.marks.push(m);
    lane.busy ||= m.kind !== "state" || m.tone !== "fine" || shown.terms.length > 0;
    if (m.kind !== "sync") continue;
    let row = lane.ends.findIndex((end) => end <= m.at);
    if (row < 0) row = Math.min(lane.ends.length, mostRows - 1);
    lane.ends[row] = m.at + m.took;
    m.row = row;
  }
  let y = data.stages.length * stageHeight + padding * 2;
  lanes.list = list.filter((lane) => lane.busy);
  for (const lane of lanes.list) {
    lane.head = narrow ? 16 : 0;
    lane.y = y;
    lane.rows = Math.max(1, lane.ends.length);
    lane.height = lane.head + lane.rows * (bar + gap) + writeRoom + padding * 2;
    y += lane.height;
  }
  lanes.height = Math.max(y, 60);
}

function drawLanes() {
  const view = (lanes.view = begin(byId("lanes"), lanes.height));
  const { pen } = view;
  grid(view, 0);
  drawStages(view);
  for (const lane of lanes.list) drawLane(view, lane);
  if (lanes.list.length === 0) label(view, "No matching records.", view.gutter + 10, lanes.height - 20, view.width, colours.faint);
  pen.fillStyle = colours.line;
  if (view.gutter) pen.fillRect(view.gutter - 1, 0, 1, view.height);
}

function drawStages(view) {
  const { pen } = view;
  data.stages.forEach(([name, at, took, error], i) => {
    const y = padding + i * stageHeight;
    const from = Math.max(toX(at, view), view.gutter);
    const to = Math.min(toX(at + took, view), view.width);
    if (to >= view.gutter && from <= view.width) {
      pen.fillStyle = error ? colours.bad : colours.good;
      pen.globalAlpha = 0.55;
      pen.fillRect(from, y + 4, Math.max(to - from, 1.5), stageHeight - 7);
      pen.globalAlpha = 1;
    }
    const text = `${name}  ${duration(took)}`;
    if (view.gutter) label(view, text, 10, y + stageHeight / 2, view.gutter - 20, colours.faint);
    else label(view, text, Math.min(to + 6, view.width - pen.measureText(text).width - 4), y + stageHeight / 2, view.width, colours.text);
  });
}

function drawLane(view, lane) {
  const { pen } = view;
  pen.fillStyle = colours.line;
  pen.fillRect(0, lane.y, view.width, 1);
  if (view.gutter) label(view, lane.name, 10, lane.y + lane.height / 2, view.gutter - 20, colours.text);
  else label(view, lane.name, 6, lane.y + 11, view.width - 12, colours.text);
  for (const m of lane.marks) {
    const box = boxOf(m, lane, view);
    if (box) drawMark(pen, m, box);
  }
}

// boxOf returns the rectangle of a mark; null if it is outside the view.
function boxOf(m, lane, view) {
  const from = toX(m.at, view), to = toX(m.at + m.took, view);
  if (to < view.gutter || from > view.width) return null;
  const x = Math.max(from, view.gutter), top = lane.y + lane.head + padding;
  if (m.kind === "sync") return { x, y: top + m.row * (bar + gap), w: Math.max(Math.min(to, view.width) - x, 2), h: bar };
  const y = top + lane.rows * (bar + gap) + 1;
  return { x: x - 1.5, y, w: 3, h: writeRoom - 1 };
}

function drawMark(pen, m, box) {
  const fine = { sync: colours.sync, write: colours.write, read: colours.write, state: colours.other, log: colours.caution, output: colours.text };
  pen.fillStyle = m.tone === "failed" ? colours.bad : m.tone !== "fine" ? colours.caution : fine[m.kind];
  pen.globalAlpha = m.tone === "fine" ? 0.85 : 1;
  pen.fillRect(box.x, box.y, box.w, box.h);
  pen.globalAlpha = 1;
  if (m === lanes.selected) {
    pen.strokeStyle = colours.text;
    pen.lineWidth = 2;
    pen.strokeRect(box.x - 2, box.y - 2, box.w + 4, box.h + 4);
  }
}

// markAt finds the mark at or near a point.
function markAt(x, y) {
  const lane = lanes.list.find((l) => y >= l.y && y < l.y + l.height);
  let best = null, least = 5;
  for (const m of lane ? lane.marks : []) {
    const box = boxOf(m, lane, lanes.view);
    if (!box) continue;
    const dx = Math.max(box.x - x, x - box.x - box.w, 0), dy = Math.max(box.y - y, y - box.y - box.h, 0);
    if (dx + dy < least) [best, least] = [m, dx + dy];
  }
  return best;
}

// select shows the details of one mark.
function select(m) {
  lanes.selected = m;
  const details = byId("details");
  details.hidden = !m;
  if (m) {
    const list = element("dl");
    const rows = [["Controller", m.controller], [m.kind === "sync" ? "Sync of queue" : "Action", m.what], ["Key or object", m.about], ["Started", seconds(m.at, 1)],
      ["Took", m.kind === "output" ? "" : duration(m.took)], [m.kind === "output" ? "Line" : m.tone === "fine" ? "Note" : "Error", m.note], [m.tone === "retried" ? "Result" : "", m.tone === "retried" ? "succeeded later" : ""], ["Record", m.seq ? String(m.seq) : ""]];
    for (const [name, value] of rows) {
      if (!value) continue;
      const dd = element("dd");
      dd.append(element("bdi", value));
      list.append(element("dt", name), dd);
    }
    details.replaceChildren(list);
  }
  redraw();
}

// step selects the next or previous visible mark.
function step(by) {
  const list = shown.marks.filter((m) => m.at + m.took >= span.from && m.at <= span.to).sort((a, b) => a.at - b.at);
  if (list.length === 0) return;
  const i = list.indexOf(lanes.selected);
  const next = list[i < 0 ? (by > 0 ? 0 : list.length - 1) : (i + by + list.length) % list.length];
  select(next);
  const lane = lanes.list.find((l) => l.marks.includes(next));
  const scroll = byId("scroll");
  if (lane) scroll.scrollTop = Math.min(Math.max(scroll.scrollTop, lane.y + lane.height + 24 - scroll.clientHeight), lane.y);
}
