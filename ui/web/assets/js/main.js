// The page: it puts the stream, the diagram, the feed and the panel together.

import * as api from "./api.js";
import { button, byId, el, show } from "./dom.js";
import { Diagram } from "./diagram.js";
import { Dots } from "./dots.js";
import { Feed, lineOf } from "./feed.js";
import { Model } from "./model.js";
import { Panel } from "./panel.js";
import { Plan } from "./plan.js";
import { Speed } from "./speed.js";
import { count, duration, shortName } from "./names.js";

const hold = 250; // ms for which records wait, so that the effects of a write are known when it is shown

const model = new Model();
const plan = new Plan();
const dots = new Dots(byId("dots"), () => showNotes());
const page = { readOnly: true, objects: false, pin: (subject) => { diagram.pinned = new Set(subject ? [subject] : []); diagram.update(); } };
const panel = new Panel(model, page);
const diagram = new Diagram(model, dots, (type, name) => panel.show(type, name));
const feed = new Feed((record) => record && panel.showRecord(record));
const speed = new Speed(model, (err) => feed.put({ class: "bad", who: "This page", what: "cannot set the speed", why: err.message }));
const session = { fresh: true, missed: 0, frozen: false, started: null };

function receiveLines(lines) {
  const now = performance.now();
  const records = [];
  for (const line of lines) {
    switch (line.kind) {
    case "ctrlplane": break;
    case "snapshot": receiveSnapshot(line); break;
    case "missed": session.missed += line.missed; break;
    case "disconnected": curtain(`The control plane does not answer: ${line.error || "it has ended"}. This page continues when it runs again.`); break;
    case "connected": curtain(""); break;
    case "restarted": restart(); break;
    default:
      if (!model.add(line, now)) break;
      plan.index(line);
      records.push(line);
    }
  }
  if (records.length === 0) return;
  // The first records are history: they are listed, but nothing moves.
  if (session.fresh) list(records);
  else setTimeout(() => play(records), hold);
  diagram.update();
}

function list(records) {
  for (const r of records) if (!plan.isTold(r)) feed.add(r, diagram.showInternals);
}

// play shows records at the distances in time at which they happened.
function play(records) {
  if (session.frozen) return;
  const now = performance.now();
  const first = Date.parse(records[0].time);
  const played = (r) => now + Math.min(1000, Math.max(0, Date.parse(r.time) - first));
  const visible = (m) => diagram.nodes.has("actor:" + m.actor) && (!m.kind || diagram.nodes.has("kind:" + m.kind));
  const moves = plan.moves(records, played, now);
  dots.add(moves.filter(visible));
  const moving = new Set(moves.filter((m) => m.type === "write" || m.type === "failed").filter(visible).map((m) => m.record));
  list(records.filter((r) => !moving.has(r)));
  showNotes();
}

dots.each((when, m) => {
  if (m.type !== "write" && m.type !== "failed") return;
  if (when === "begin") feed.add(m.record, diagram.showInternals);
  else diagram.touch(m.kind, m.record.object);
});

function receiveSnapshot(snapshot) {
  const started = snapshot.process.started;
  if (session.started && started !== session.started) restart();
  session.started = started;
  model.setSnapshot(snapshot);
  curtain("");
  showState();
}

function receiveStatus(status) {
  model.setStatus(status);
  speed.refresh();
  showState();
}

function showState() {
  const p = model.process;
  show(byId("name"), p.name || "ctrlplane");
  document.title = (p.name || "ctrlplane") + " · ctrlplane";
  const busy = (p.busy || []).filter((name) => diagram.chosen.controllers.includes(name)).map(shortName);
  const state = byId("state");
  const behind = plan.end - performance.now();
  state.dataset.state = p.state !== "ready" ? "other" : p.settled && behind < 1000 ? "settled" : "busy";
  show(state, p.state && p.state !== "ready" ? p.state : p.settled && behind >= 1000 ? "settled, still showing how" : p.settled ? "settled" : "working" + (busy.length ? ": " + busy.slice(0, 3).join(", ") + (busy.length > 3 ? ` and ${busy.length - 3} more` : "") : ""));
  showBadges();
  diagram.update();
  diagram.refresh();
  panel.refresh();
  showNotes();
}

// showBadges lists the interventions, with a way to end them.
function showBadges() {
  const changed = (who, list) => [...list.values()].filter((c) => c.state === "paused" || (c.state === "running" && c.reason)).map((c) => ({ who, c }));
  const all = [...changed("controllers", model.controllers), ...changed("clients", model.clients)];
  const slow = page.readOnly && model.speed !== "1" ? [el("span", { class: "badge changed" }, "speed " + model.speed)] : [];
  const key = JSON.stringify([page.readOnly, model.speed, all.map(({ c }) => [c.name, c.state, c.reason])]);
  if (key === session.badges) return;
  session.badges = key;
  byId("badges").replaceChildren(...(page.readOnly ? [el("span", { class: "badge" }, "read-only")] : []), ...slow,
    ...all.slice(0, 3).map(({ c }) => button(`${shortName(c.name)}: ${c.state === "paused" ? "paused" : c.reason}`, () => panel.show("actor", c.name), { class: "badge changed" })),
    ...(all.length > 3 ? [el("span", { class: "badge changed" }, `and ${all.length - 3} more`)] : []),
    ...(all.length && !page.readOnly ? [button("End all", () => endAll(all), { class: "badge", title: "Resume, and remove delays and faults" })] : []));
}

async function endAll(all) {
  for (const who of ["controllers", "clients"]) {
    const names = all.filter((a) => a.who === who).map((a) => a.c.name);
    if (!names.length) continue;
    try {
      await api.intervene(who, "clear", { names });
      await api.intervene(who, "resume", { names });
    } catch (err) {
      feed.put({ class: "bad", who: "This page", what: "cannot end the interventions", why: err.message });
    }
  }
}

function showNotes() {
  const notes = [];
  const { hidden, crowded } = diagram.chosen;
  if (crowded > 0) notes.push(`${count(crowded, "active controller")} do not fit`.replace("controller do", "controller does"));
  else if (hidden > 0) notes.push(`${count(hidden, "quiet controller")} hidden`);
  const largest = dots.level > 0 ? dots.largest() : 1;
  if (dots.level > 0) notes.push(`busy: one dot stands for up to ${Math.max(largest, 2)} keys`);
  const behind = plan.end - performance.now();
  if (behind > 1500) notes.push(`slowed for the eye: ${duration(behind * 1e6)} behind`);
  if (session.missed) notes.push(`${count(session.missed, "record")} missed`);
  show(byId("notes"), notes.join(" · "));
}

function restart() {
  model.reset();
  plan.reset();
  dots.clear();
  feed.clear();
  feed.put({ class: "state", who: "The control plane", what: "was started again" });
  session.missed = 0;
  begin();
}

// begin treats the records of the next moment as history.
function begin() {
  session.fresh = true;
  clearTimeout(session.timer);
  session.timer = setTimeout(() => { session.fresh = false; }, 700);
}

function curtain(text) {
  byId("curtain").hidden = !text;
  document.body.classList.toggle("lost", !!text);
  show(byId("curtain"), text);
}

// lost says why the stream has ended.
async function lost() {
  try {
    await api.get("/api/session");
  } catch (err) {
    curtain(err.status === 401 ? "The session of this page has ended. Open the last link that ctrlplane has printed."
      : "The control plane, or the command that serves this page, has ended. The page continues when it answers again.");
  }
}

function toggle(id, change) {
  const b = byId(id);
  b.addEventListener("click", () => {
    const on = b.getAttribute("aria-pressed") !== "true";
    b.setAttribute("aria-pressed", on);
    change(on);
  });
}

function prepareButtons() {
  toggle("internals", (on) => {
    diagram.showInternals = on;
    diagram.update(true);
  });
  toggle("focus", (on) => {
    diagram.focus = on ? page.focus : [];
    diagram.update(true);
  });
  toggle("freeze", (on) => {
    session.frozen = on;
    document.body.classList.toggle("frozen", on);
    dots.freeze(on);
  });
  byId("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try {
      localStorage.setItem("theme", root.dataset.theme);
    } catch { /* storage is off: the choice is for this visit */ }
    diagram.recolor();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => diagram.recolor());
  const keys = { i: "internals", t: "theme", " ": "freeze" };
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
    if (e.key === "Escape" && panel.isOpen) return panel.close();
    if (e.key === "[") return speed.move(1);
    if (e.key === "]") return speed.move(-1);
    if (e.key === "n") return speed.step();
    const id = keys[e.key.toLowerCase()];
    if (!id || (e.key === " " && e.target.tagName === "BUTTON")) return;
    e.preventDefault();
    byId(id).click();
  });
}

async function main() {
  try {
    const theme = localStorage.getItem("theme");
    if (theme) document.documentElement.dataset.theme = theme;
  } catch { /* storage is off */ }
  prepareButtons();
  try {
    Object.assign(page, await api.openSession());
    if (!page.readOnly) speed.offer(page.speeds);
    if (page.focus) byId("focus").click();
    byId("focus").hidden = !page.focus;
  } catch (err) {
    return curtain(err.message);
  }
  const { Stream } = await import("./stream.js");
  new Stream({ lines: receiveLines, status: receiveStatus, lost, open: () => { curtain(""); begin(); } }).connect();
  setInterval(() => { diagram.update(); showState(); }, 1000);
}

main();

// For tests: what is drawn at the moment.
globalThis.picture = { dots, diagram, plan, model, lineOf };
