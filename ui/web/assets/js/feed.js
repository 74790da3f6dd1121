// The list of what happened, newest last.

import { byId, el, show } from "./dom.js";
import { failed, isRoutine, isWrite } from "./model.js";
import { count, kindKey, kindName, objectKey, shortName, verbs } from "./names.js";

const kept = 150; // lines
const atOnce = 12; // new lines in a moment; the rest is counted
const merged = 4000; // ms within which equal lines become one with a number


export class Feed {
  constructor(open) {
    this.open = open;
    this.list = byId("lines");
    this.pending = [];
    this.last = null;
    this.list.addEventListener("scroll", () => this.noteScroll());
    byId("newest").addEventListener("click", () => this.follow());
  }

  // held reports whether the reader has scrolled up.
  noteScroll() {
    const held = this.list.scrollHeight - this.list.scrollTop - this.list.clientHeight > 40;
    byId("newest").hidden = !held;
    this.held = held;
  }

  follow() {
    this.held = false;
    byId("newest").hidden = true;
    this.list.scrollTop = this.list.scrollHeight;
  }

  clear() {
    this.list.replaceChildren();
    this.pending = [];
    this.last = null;
  }

  add(record, internals) {
    const line = lineOf(record, internals);
    if (line) this.put(line);
  }

  put(line) {
    this.pending.push({ ...line, at: performance.now() });
    this.timer ||= setTimeout(() => this.draw(), 120);
  }

  draw() {
    this.timer = 0;
    const lines = this.pending.filter((line) => !this.merge(line));
    const left = lines.length - atOnce;
    if (left > 0) lines.splice(0, left + 1, { class: "more", who: count(left + 1, "more line"), what: "", at: performance.now() });
    for (const line of lines) if (!this.merge(line)) this.append(line);
    this.pending = [];
    while (this.list.childElementCount > kept) this.list.firstElementChild.remove();
    if (!this.held) this.list.scrollTop = this.list.scrollHeight;
  }

  // merge counts a line on the last one if they say the same.
  merge(line) {
    const last = this.last;
    if (last?.key !== keyOf(line) || line.at - last.at > merged) return false;
    last.count++;
    last.at = line.at;
    last.record = line.record;
    show(last.times, "×" + last.count);
    show(last.which, line.which || "");
    return true;
  }

  append(line) {
    const times = el("span", { class: "times" }), which = el("span", { class: "which" }, line.which || "");
    const entry = { key: keyOf(line), at: line.at, count: 1, times, which, record: line.record };
    const item = el("li", { class: line.class },
      el("button", { type: "button", on: { click: () => this.open(entry.record) } },
        el("span", { class: "said" }, el("b", {}, line.who), " " + line.what + " ", line.kind ? el("span", { class: "kindname" }, line.kind) : null, times),
        which, line.why ? el("span", { class: "why" }, line.why) : null));
    if (!line.record) item.firstElementChild.disabled = true;
    this.list.append(item);
    this.last = entry;
  }
}

const keyOf = (line) => [line.class, line.who, line.what, line.kind, line.why].join("|");

// lineOf returns the line of a record, null if it is not worth one.
export function lineOf(r, internals) {
  switch (r.kind) {
  case "called":
    return lineOfCall(r, internals);
  case "synced":
    return r.error ? { class: "bad", who: shortName(r.controller), what: r.retried ? "fails, will retry" : "fails", which: r.key, why: r.error, record: r } : null;
  case "controllerChanged":
    return { class: "state", who: shortName(r.controller), what: "is " + r.state, why: r.reason, record: r };
  case "logged":
    return lineOfLog(r);
  case "bootStep":
    return null;
  }
  return null;
}

function lineOfCall(r, internals) {
  const bad = failed(r);
  if (!isWrite(r) || (isRoutine(r) && !internals && !bad)) return null;
  const what = (bad ? "cannot " + r.verb : verbs[r.verb] || r.verb);
  return {
    class: bad ? "bad" : r.client ? "client" : "write", who: shortName(r.controller), what: r.subresource === "binding" && !bad ? "binds" : what,
    kind: kindName(kindKey(r.object)) + (r.subresource && r.subresource !== "binding" ? " " + r.subresource : ""), which: objectKey(r.object), why: bad ? (r.conflict ? "conflict: another one has written it meanwhile" : r.error || "no response") : "", record: r,
  };
}

// lineOfLog returns a line for Kubernetes Events, which controllers log, for warnings and
// for errors.
function lineOfLog(r) {
  const attrs = Object.fromEntries((r.attrs || []).map((a) => [a.key, a.value]));
  if (r.message === "Event occurred" && attrs.reason && attrs.type === "Warning") {
    return { class: "bad", who: shortName(r.controller), what: "warns: " + attrs.reason, which: attrs.object, why: attrs.message || "", record: r };
  }
  if (r.level < 4) return null;
  return { class: r.level >= 8 ? "bad" : "state", who: shortName(r.controller), what: r.level >= 8 ? "logs an error" : "warns", why: [r.message, attrs.err].filter(Boolean).join(": "), record: r };
}
