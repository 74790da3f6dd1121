// The depth of each queue as a step chart, in the time range of the lanes.
const depths = { list: [], view: null };
const depthHeight = 34, depthHead = 18;

function layQueues() {
  const head = gutter(byId("depths").clientWidth) ? 0 : depthHead;
  depths.list = data.queues.filter((q) => matches(`${q.queue} ${q.controller}`.toLowerCase()));
  depths.list.forEach((q, i) => Object.assign(q, { y: i * (depthHeight + head + 8) + 4, head }));
  const last = depths.list.at(-1);
  depths.height = last ? last.y + last.head + depthHeight + 6 : 30;
  byId("queues-count").textContent = found(depths.list.length, data.queues.length);
}

function drawQueues() {
  const view = (depths.view = begin(byId("depths"), depths.height));
  grid(view, 0);
  if (depths.list.length === 0) label(view, data.queues.length ? "No matching queue." : "No key waited in any queue.", 10, 15, view.width, colours.faint);
  for (const q of depths.list) drawQueue(view, q);
}

function drawQueue(view, q) {
  const { pen } = view;
  const top = q.y + q.head, floor = top + depthHeight;
  const text = `${q.queue}  ${q.max}`;
  if (view.gutter) {
    label(view, q.queue, 10, top + 10, view.gutter - 20, colours.text);
    label(view, `max ${q.max}${q.exact ? "" : ", sampled"} · ${q.controller || "unknown controller"}`, 10, top + 26, view.gutter - 20, colours.faint);
  } else label(view, text, 6, q.y + 9, view.width - 12, colours.text);
  const toY = (depth) => floor - (depth / q.max) * (depthHeight - 4);
  pen.beginPath();
  pen.moveTo(view.gutter, floor);
  let depth = 0;
  for (const [at, next] of q.points) {
    const x = Math.min(Math.max(toX(at, view), view.gutter), view.width);
    pen.lineTo(x, toY(depth));
    pen.lineTo(x, toY(next));
    depth = next;
    if (x === view.width) break;
  }
  pen.lineTo(view.width, toY(depth));
  pen.lineTo(view.width, floor);
  pen.closePath();
  pen.globalAlpha = 0.35;
  pen.fillStyle = colours.accent;
  pen.fill();
  pen.globalAlpha = 1;
  pen.strokeStyle = colours.accent;
  pen.lineWidth = 1;
  pen.stroke();
  pen.fillStyle = colours.line;
  pen.fillRect(0, floor, view.width, 1);
}

// describeDepth describes the queue at a point.
function describeDepth(x, y) {
  const q = depths.list.find((one) => y >= one.y && y < one.y + one.head + depthHeight);
  if (!q || x < depths.view.gutter) return "";
  const time = toTime(x, depths.view);
  const before = q.points.filter(([at]) => at <= time).at(-1);
  return `${q.queue} of ${q.controller || "unknown controller"} at ${seconds(time, (span.to - span.from) / 10)}: ${before ? before[1] : 0} waiting`;
}
