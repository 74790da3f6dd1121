// The data of the page and the filter.
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const kinds = ["sync", "write", "read", "state", "log", "output"];
const tones = ["fine", "conflict", "failed", "retried", "logged"];

const marks = data.marks.map(([kind, lane, at, took, tone, what, about, note, seq]) => {
  const mark = { kind: kinds[kind], lane, at, took, tone: tones[tone], what, about, note, seq, controller: data.lanes[lane] };
  mark.text = [mark.kind, mark.tone === "fine" ? "" : mark.tone, mark.controller, what, about, note].join(" ").toLowerCase();
  return mark;
});

const shown = { terms: [], sync: true, write: true, output: true, other: true, trouble: false, marks, listeners: [] };

const matches = (text) => shown.terms.every((term) => text.includes(term));

// filterMarks applies the filter and notifies the listeners.
function filterMarks() {
  shown.marks = marks.filter((m) => {
    const kind = m.kind === "sync" || m.kind === "output" ? m.kind : m.kind === "write" || m.kind === "read" ? "write" : "other";
    return shown[kind] && (!shown.trouble || m.tone !== "fine") && matches(m.text);
  });
  for (const listener of shown.listeners) listener();
}

// seconds formats a time of the run with the precision of a step.
function seconds(ms, step) {
  const digits = Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(step) + 1e-9)));
  return (ms / 1000).toFixed(digits) + " s";
}

function duration(ms) {
  if (ms >= 999.5) return (ms / 1000).toFixed(2) + " s";
  if (ms >= 0.9995) return Number(ms.toPrecision(3)) + " ms";
  return Math.round(ms * 1000) + " µs";
}

// element creates an element with text, never with markup.
function element(name, text, className) {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  return e;
}
