// The strip above the lanes: the activity over the whole run, and the visible time
// range. Its right end is aligned with the lanes.
const scrollbar = () => byId("scroll").offsetWidth - byId("scroll").clientWidth;

function drawOverview() {
  const view = begin(byId("overview"), 44);
  const { pen, height, gutter: left } = view, width = view.width - left - scrollbar();
  const columns = Math.max(Math.floor(width / 3), 1);
  const [all, doubtful, bad] = [0, 1, 2].map(() => new Float64Array(columns));
  for (const m of shown.marks) {
    const column = Math.min(Math.max(Math.floor((m.at / span.end) * columns), 0), columns - 1);
    all[column]++;
    if (m.tone === "failed") bad[column]++;
    if (m.tone !== "fine") doubtful[column]++;
  }
  const most = Math.sqrt(Math.max(...all, 1)); // square roots, so that small values stay visible
  for (let i = 0; i < columns; i++) {
    for (const [counts, colour] of [[all, colours.sync], [doubtful, colours.caution], [bad, colours.bad]]) {
      if (!counts[i]) continue;
      const h = Math.max((Math.sqrt(counts[i]) / most) * (height - 6), 2);
      pen.fillStyle = colour;
      pen.fillRect(left + i * (width / columns), height - h, width / columns - 0.5, h);
    }
  }
  const from = left + (span.from / span.end) * width, to = left + (span.to / span.end) * width;
  if (left) label(view, "The whole run", 10, height / 2, left - 20, colours.faint);
  pen.fillStyle = colours.window;
  pen.fillRect(from, 0, to - from, height);
  pen.fillStyle = colours.accent;
  pen.fillRect(from, 0, 2, height);
  pen.fillRect(to - 2, 0, 2, height);
}

function useOverview() {
  const canvas = byId("overview");
  const timeAt = (event) => {
    const box = canvas.getBoundingClientRect();
    const left = gutter(box.width);
    return ((event.clientX - box.left - left) / (box.width - left - scrollbar())) * span.end;
  };
  let start = null;
  canvas.addEventListener("pointerdown", (event) => {
    start = timeAt(event);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (start === null) return;
    const now = timeAt(event);
    if (Math.abs(now - start) > span.end / 200) setSpan(Math.min(start, now), Math.max(start, now));
  });
  canvas.addEventListener("pointerup", (event) => {
    const now = timeAt(event), half = (span.to - span.from) / 2;
    if (start !== null && Math.abs(now - start) <= span.end / 200) setSpan(now - half, now + half);
    start = null;
  });
  canvas.addEventListener("pointercancel", () => (start = null));
}
