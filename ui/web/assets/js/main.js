// The page: it puts the stream, the diagram, the feed and the panel together.

import * as api from "./api.js";
import { clock } from "./clock.js";
import { button, byId, el, show } from "./dom.js";
import { Diagram } from "./diagram.js";
import { Dots } from "./dots.js";
import { Feed, lineOf } from "./feed.js";
import { Filter } from "./filter.js";
import { Headline } from "./headline.js";
import { Model } from "./model.js";
import { Panel } from "./panel.js";
import { Plan } from "./plan.js";
import { Playback } from "./playback.js";
import { Speed } from "./speed.js";
import { count, duration, shortName } from "./names.js";

const model = new Model();
const plan = new Plan();
const dots = new Dots(byId("dots"), () => showNotes());
const page = { readOnly: true, objects: false, replay: false, plays: false, pin: (subject) => { diagram.pinned = new Set(subject ? [subject] : []); diagram.update(); } };
const headline = new Headline(model);
const panel = new Panel(model, page);
const filter = new Filter(model, () => filtered());
const diagram = new Diagram(model, dots, filter, (type, name) => panel.show(type, name));
const feed = new Feed((record) => record && panel.showRecord(record), filter);
const speed = new Speed(model, (err) => feed.put({ class: "bad", who: "This page", what: "cannot set the speed", why: err.message }));
const playback = new Playback((err) => feed.put({ class: "state", who: "This page", what: "cannot change the playback", why: err.message }));
const session = { fresh: true, missed: 0, frozen: false, started: null, pending: [], patience: 700 }; // patience: ms for which records wait until their causes are known

function receiveLines(lines) {
  const now = clock.now();
  const records = [], history = [];
  for (const line of lines) {
    switch (line.kind) {
    case "ctrlplane": break;
    case "snapshot": receiveSnapshot(line); break;
    case "missed": session.missed += line.missed; break;
    case "disconnected": curtain(`The control plane does not answer: ${line.error || "it has ended"}. This page continues when it runs again.`); break;
    case "connected":
      curtain("");
      if (model.lastSeq === 0) begin(); // nothing was read so far
      break;
    case "restarted": restart(); break;
    default:
      if (!model.add(line)) break;
      const isPast = session.frozen || session.fresh;
      if (!isPast) {
        headline.add(line, now);
        model.addClient(line);
      }
      plan.index(line, isPast);
      (isPast ? history : records).push(line);
    }
  }
  if (!session.frozen) list(history);
  if (records.length + history.length > 0) diagram.update();
  if (records.length > 0) session.pending.push({ records, until: performance.now() + session.patience });
  playPending();
}

function list(records) {
  for (const r of records) feed.add(r, diagram.showInternals);
}

// playPending shows the records whose causes are known, and those that have waited for long.
function playPending() {
  clearTimeout(session.playing);
  const { pending } = session;
  while (pending.length > 0 && (pending[0].until <= performance.now() || pending[0].records.every((r) => plan.isComplete(r)))) play(pending.shift().records);
  if (pending.length > 0) session.playing = setTimeout(playPending, 50);
}

// play shows records at the distances in time at which they happened.
function play(records) {
  const now = clock.now();
  const visible = (m) => diagram.shows(m.actor, m.kind) && filter.matches(m.record);
  if (plan.end < now) plan.rebase();
  const moves = plan.moves(records, now, playback.factor);
  dots.add(moves.filter(visible));
  const moving = new Set(moves.filter((m) => m.type === "write" || m.type === "failed").filter(visible).map((m) => m.record));
  list(records.filter((r) => !moving.has(r)));
  showNotes();
}

const arrived = new Map(); // by kind: the object that was written last, in this frame

dots.each((when, m, records) => {
  if (when === "drawn") {
    for (const [kind, object] of arrived) diagram.touch(kind, object);
    arrived.clear();
  } else if (m.type === "write" || m.type === "failed") {
    if (when === "begin") list(records);
    else arrived.set(m.kind, m.record.object);
  }
});

// forget forgets what is shown and what waits to be.
function forget() {
  model.reset();
  headline.reset();
  plan.reset();
  dots.clear();
  feed.clear();
  session.pending = [];
  session.missed = 0;
}

function receivePlayback(state) {
  const before = playback.state;
  const wasPlaying = playback.playing;
  playback.receive(state);
  if (before && before.factor !== state.factor) plan.rebase();
  const stays = clock.held && before?.at === playback.state.at; // as after a change of speed
  holdPicture((wasPlaying || stays) && !playback.playing && !state.stepped);
  showState();
}

// jump shows another moment of the recording.
function jump() {
  forget();
  session.started = null;
  clearTimeout(session.timer);
  session.fresh = true;
}

// holdPicture stops the picture, or lets it go on.
function holdPicture(on) {
  if (on) clock.hold();
  else clock.release();
  document.body.classList.toggle("frozen", on);
  dots.start();
}

function filtered() {
  feed.refilter();
  diagram.update(true);
  showNotes();
}

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
  const behind = plan.end - clock.now();
  const [kind, text] = headline.text(diagram.chosen.controllers, clock.now());
  const state = byId("state"), sentence = byId("headline");
  state.dataset.state = p.state !== "ready" || model.failing ? "bad" : p.settled && behind < 1000 ? "settled" : "busy";
  show(state, [model.state, model.failing].filter(Boolean).join(", "));
  const calm = !kind || p.settled && kind === "busy";
  const rest = p.settled ? headline.settled(diagram.chosen.controllers, behind < 1000) : model.state === "standby" ? "The controllers run in another process." : p.state === "ready" ? "Working." : "";
  sentence.dataset.kind = calm ? "" : kind;
  show(sentence, calm ? rest : text);
  sentence.title = sentence.textContent;
  showBadges();
  filter.refresh(diagram.showInternals);
  diagram.update();
  diagram.refresh(p.settled ? "" : headline.busiest, headline.failingClients());
  panel.refresh();
  showNotes();
}

// showBadges lists the interventions, with a way to end them.
function showBadges() {
  const all = model.interventions;
  const slow = page.readOnly && model.speed && model.speed !== "1" ? [el("span", { class: "badge changed" }, "speed " + model.speed)] : [];
  const key = JSON.stringify([page.readOnly, model.speed, all]);
  if (key === session.badges) return;
  session.badges = key;
  byId("badges").replaceChildren(...(page.replay ? [el("span", { class: "badge" }, "recording")] : page.readOnly ? [el("span", { class: "badge" }, "read-only")] : []), ...slow,
    ...all.slice(0, 3).map((i) => button(`${shortName(i.name)}: ${i.text}`, () => panel.show("actor", i.name), { class: "badge changed" })),
    ...(all.length > 3 ? [el("span", { class: "badge changed" }, `and ${all.length - 3} more`)] : []),
    ...(all.length && !page.readOnly ? [button("End all", endAll, { class: "badge", title: "Resume and start, remove delays and faults, set the configured numbers of workers, and full speed" })] : []));
}

async function endAll() {
  try {
    await api.endInterventions();
  } catch (err) {
    feed.put({ class: "bad", who: "This page", what: "cannot end all interventions", why: err.message });
  }
}

function showNotes() {
  const notes = [];
  const { hidden, crowded } = diagram.chosen;
  const largest = dots.level > 0 ? dots.largest() : 1;
  if (dots.level > 0) notes.push(`busy: one dot stands for up to ${Math.max(largest, 2)} keys`);
  const behind = plan.end - clock.now();
  if (behind > 1500) notes.push((notes.length ? "" : "slowed for the eye: ") + duration(behind * 1e6) + " behind");
  if (filter.isOn) notes.push("only " + filter.describe());
  if (session.missed) notes.push(`${count(session.missed, "record")} missed`);
  if (crowded > 0) notes.push(`${count(crowded, "active controller")} do not fit`.replace("controller do", "controller does"));
  else if (hidden > 0 && !filter.isOn) notes.push(`${count(hidden, "quiet controller")} hidden`);
  show(byId("notes"), notes.join(" · "));
  byId("notes").title = byId("notes").textContent; // it may be cut
}

function restart() {
  forget();
  feed.put({ class: "state", who: "The control plane", what: "was started again" });
  begin();
}

// begin treats the records of the next moment as history: they are listed, but nothing
// moves.
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

// lost says why the stream has ended, or was refused.
async function lost(refused) {
  try {
    await api.get("/api/session");
    const reason = refused && await api.streamRefusal();
    if (reason) curtain(reason[0].toUpperCase() + reason.slice(1) + ". This page continues as soon as it can.");
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
    session.pending = []; // what happens meanwhile is not shown later
    if (!on) dots.clear();
    holdPicture(on);
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
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.tagName === "INPUT") return;
    if (e.key === "Escape") return panel.isOpen ? panel.close() : filter.clear();
    if (e.target.tagName === "SELECT") return;
    if (page.replay && !(e.key === " " && e.target.tagName === "BUTTON") && playback.key(e)) return e.preventDefault();
    if (e.key === "[") return speed.move(1);
    if (e.key === "]") return speed.move(-1);
    if (e.key === "n") return speed.step();
    if (e.key === "/") {
      e.preventDefault();
      return byId("filter-controller").focus();
    }
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
    if (page.replay) {
      model.playback = playback;
      playback.offer(page.plays);
      byId("freeze").hidden = true;
    }
    if (page.focus) byId("focus").click();
    byId("focus").hidden = !page.focus;
  } catch (err) {
    return curtain(err.message);
  }
  const { Stream } = await import("./stream.js");
  new Stream({ lines: receiveLines, status: receiveStatus, playback: receivePlayback, jumped: jump, lost, live: () => { session.fresh = false; }, open: () => { curtain(""); session.fresh = true; } }).connect();
  setInterval(() => { diagram.update(); showState(); }, 1000);
}

main();

// For tests: what is drawn at the moment.
globalThis.picture = { dots, diagram, plan, model, clock, playback, session, lineOf };
