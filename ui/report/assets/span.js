// The visible time range, in milliseconds since the start of the run.
const span = { from: 0, to: 1, end: Math.max(data.end, 1), listeners: [] };
const narrowest = 0.05;

function setSpan(from, to) {
  const width = Math.min(Math.max(to - from, narrowest), span.end);
  span.from = Math.min(Math.max(from, 0), span.end - width);
  span.to = span.from + width;
  for (const listener of span.listeners) listener();
}

// zoom shortens the time range by a factor and keeps one time in place.
function zoom(factor, around = (span.from + span.to) / 2) {
  setSpan(around - (around - span.from) / factor, around + (span.to - around) / factor);
}

const pan = (part) => setSpan(span.from + part * (span.to - span.from), span.to + part * (span.to - span.from));

// showTime moves to a time, and zooms in enough to distinguish it from others.
function showTime(at, took) {
  const width = Math.min(span.to - span.from, Math.max(took * 4, span.end / 50));
  setSpan(at + took / 2 - width / 2, at + took / 2 + width / 2);
}

const zooms = {
  in: () => zoom(2), out: () => zoom(0.5), left: () => pan(-0.25), right: () => pan(0.25), all: () => setSpan(0, span.end),
};

function showRange() {
  const width = span.to - span.from;
  const whole = width >= span.end * 0.9999;
  const range = byId("range");
  range.textContent = `${seconds(span.from, width / 10)} – ${seconds(span.to, width / 10)}` + (whole ? " (whole run)" : ` of ${duration(span.end)}`);
  range.dataset.from = span.from;
  range.dataset.to = span.to;
}
