// The list of what happened, newest last.

import { byId, el, show } from "./dom.js";
import { isWrite } from "./model.js";
import { count, kindKey, kindName, objectKey, shortName, verbOf } from "./names.js";

const kept = 150; // lines
const atOnce = 12; // new lines in a moment; the rest is counted
const byHand = 1000; // ms after a touch of a mouse or a key, in which it is what scrolls
const merged = 4000; // ms within which equal lines become one with a number


export class Feed {
  constructor(open, filter) {
    this.open = open;
    this.filter = filter;
    this.list = byId("lines");
    this.pending = [];
    this.last = null;
    this.movedAt = -Infinity;
    this.list.addEventListener("scroll", () => this.noteScroll());
    for (const by of ["wheel", "touchmove", "keydown", "pointerdown"]) this.list.addEventListener(by, () => { this.movedAt = performance.now(); }, { passive: true });
    new ResizeObserver(() => this.held || this.follow()).observe(this.list);
    byId("newest").addEventListener("click", () => this.follow());
  }

  // noteScroll holds the list if the reader has scrolled up. New lines scroll it, too.
  noteScroll() {
    const above = this.list.scrollHeight - this.list.scrollTop - this.list.clientHeight > 40;
    if (above && !this.held && performance.now() - this.movedAt > byHand) return;
    byId("newest").hidden = !above;
    this.held = above;
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

  // refilter hides the lines that the filter does not match.
  refilter() {
    for (const item of this.list.children) item.hidden = !this.filter.matches(item.record);
    if (!this.held) this.list.scrollTop = this.list.scrollHeight;
  }

  put(line) {
    this.pending.push({ ...line, at: performance.now() });
    this.timer ||= setTimeout(() => this.draw(), 120);
  }

  draw() {
    this.timer = 0;
    const [shown, others] = [true, false].map((on) => this.pending.filter((line) => this.filter.matches(line.record) === on));
    const lines = [...this.summarize(others), ...this.summarize(shown)];
    for (const line of lines) if (!this.merge(line)) this.append(line);
    this.pending = [];
    while (this.list.childElementCount > kept) this.list.firstElementChild.remove();
    if (!this.held) this.list.scrollTop = this.list.scrollHeight;
  }

  // summarize makes few lines of many: those that say the same become one with a number, and
  // if that is not enough, the older ones are counted.
  summarize(lines) {
    if (lines.length <= atOnce) return lines;
    const byKey = new Map();
    for (const line of lines) {
      const key = keyOf(line);
      const same = byKey.get(key);
      byKey.delete(key); // the newest is last
      byKey.set(key, { ...line, count: (same?.count || 0) + 1 });
    }
    const some = [...byKey.values()];
    const left = some.length - atOnce;
    if (left > 0) some.splice(0, left + 1, { class: "more", who: count(some.slice(0, left + 1).reduce((sum, l) => sum + l.count, 0), "more line"), what: "", at: performance.now() });
    return some;
  }

  // merge counts a line on the last one if they say the same.
  merge(line) {
    const last = this.last;
    if (last?.key !== keyOf(line) || line.at - last.at > merged) return false;
    last.count += line.count || 1;
    last.at = line.at;
    last.record = last.item.record = line.record;
    show(last.times, "×" + last.count);
    show(last.which, line.which || "");
    return true;
  }

  append(line) {
    const times = el("span", { class: "times" }), which = el("span", { class: "which" }, line.which || "");
    const entry = { key: keyOf(line), at: line.at, count: line.count || 1, times, which, record: line.record };
    if (entry.count > 1) show(times, "×" + entry.count);
    const item = el("li", { class: line.class },
      el("button", { type: "button", on: { click: () => this.open(entry.record) } },
        el("span", { class: "said" }, el("b", {}, line.who), " " + line.what + " ", line.kind ? el("span", { class: "kindname" }, line.kind) : null, times),
        which, line.why ? el("span", { class: "why" }, line.why) : null));
    if (!line.record) item.firstElementChild.disabled = true;
    entry.item = item;
    item.record = line.record;
    item.hidden = !this.filter.matches(line.record);
    this.list.append(item);
    this.last = entry;
  }
}

const keyOf = (line) => [line.class, line.who, line.what, line.kind, line.why, line.record?.object?.namespace].join("|");

// lineOf returns the line of a record, null if it is not listed. With internals, all writes are.
export function lineOf(r, internals) {
  if (!r.listed && !(internals && isWrite(r))) return null;
  const who = shortName(r.controller || "start");
  switch (r.kind) {
  case "called":
    return r.event && !r.failed ? lineOfEvent(r, who) : lineOfCall(r, who);
  case "synced":
    return { class: r.retry ? "conflict" : "bad", who, what: r.retry ? `has a ${r.retry}, will retry` : r.retried ? "fails, will retry" : "fails", which: r.key, why: r.error, record: r };
  case "controllerChanged":
    return { class: "state", who, what: "is " + r.state, why: r.reason, record: r };
  case "logged":
    return lineOfLog(r, who);
  case "bootStep":
    return { class: r.error ? "bad" : "state", who, what: r.error ? "fails: " + r.step : r.step, why: r.error, record: r };
  }
  return null;
}

function lineOfCall(r, who) {
  const bad = r.failed;
  const what = (bad ? "cannot " + r.verb : verbOf(r));
  return {
    class: r.conflict ? "conflict" : bad ? "bad" : r.client ? "client" : "write", who, what: r.subresource === "binding" && !bad ? "binds" : what,
    kind: kindName(kindKey(r.object)) + (r.subresource && r.subresource !== "binding" ? " " + r.subresource : ""), which: objectKey(r.object), why: bad ? whyFailed(r) : "", record: r,
  };
}

// lineOfEvent shows a Kubernetes Event as what it says, rather than as a write, about the object that it regards.
function lineOfEvent(r, who) {
  const { type, reason, note, regarding } = r.event;
  const warns = type === "Warning";
  return { class: warns ? "bad" : "write", who, what: (warns ? "warns: " : "says: ") + reason, kind: kindName(kindKey(regarding)), which: objectKey(regarding), why: note, record: { ...r, object: regarding } };
}

// whyFailed says why a call has failed. Who had modified the object of a conflict, often the controller itself, is known
// only with the writes around it: "ctrlplane trace" names it.
function whyFailed(r) {
  if (!r.conflict) return r.error || "no response";
  if (/fault injected by ctrlplane/.test(r.error)) return "conflict: " + r.error;
  if (/the control plane was restored to another state/.test(r.error)) return "conflict: the control plane was restored while the write waited";
  return "conflict: the object had been modified or deleted meanwhile";
}

function lineOfLog(r, who) {
  const isError = r.level >= 8;
  if (r.controller === "ctrlplane" && r.level < 4) return { class: "state", who, what: r.message, record: r };
  const attrs = Object.fromEntries((r.attrs || []).map((a) => [a.key, a.value]));
  return { class: isError ? "bad" : "state", who, what: isError ? "logs an error" : "warns", why: [r.message, attrs.err].filter(Boolean).join(": "), record: r };
}
