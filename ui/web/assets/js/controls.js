// The interventions in one controller or client: the same as in the terminal.

import * as api from "./api.js";
import { button, el, update } from "./dom.js";
import { diffView } from "./diff.js";
import { duration, kindKey, kindName } from "./names.js";

const delays = ["200ms", "1s", "3s"];
const faults = [["conflict", "409"], ["error", "500"], ["timeout", "timeout"]];
const rates = [["every call", 1], ["30 % of calls", 0.3]];

export const interventionNote = (actor) => (actor.state && actor.state !== "running" ? actor.state : "running") + (actor.reason ? ": " + actor.reason : "");

// controlsView returns the buttons, and what the last one did.
export function controlsView({ name, who, readOnly, why, state, time }) {
  if (readOnly) return { element: el("p", { class: "note" }, why || "This page is read-only."), refresh() {} };
  const result = el("div", { class: "result", role: "status" });
  const held = el("div", {});
  const act = async (verb, body = {}) => {
    result.replaceChildren(el("p", { class: "faint" }, verb === "step" ? "waiting for a write…" : "…"));
    try {
      const answer = await api.intervene(who, verb, { names: [name], ...body });
      result.replaceChildren(...(verb === "step" ? stepped(answer) : []));
    } catch (err) {
      result.replaceChildren(el("p", { class: "problem" }, err.message));
    }
    showHeld();
  };
  const pause = button("Pause", () => act("pause")), resume = button("Resume", () => act("resume"), { class: "primary" }), step = button("Step", () => act("step"), { class: "primary" });
  const stop = button("Stop", () => act("stop")), start = button("Start", () => act("start"), { class: "primary" }), clear = button("Clear", () => act("clear"));
  const remove = button("Remove", () => act("remove"));
  const delay = select("Delay…", delays.map((d) => ["each call by " + d, d]), (d) => act("delay", { delay: d }));
  const fault = select("Fail…", rates.flatMap(([often, rate]) => faults.map(([what, code]) => [`${often}: ${what}`, { rate, code }])), (f) => act("fail", { fault: f }));
  let reading = null;
  const readHeld = () => (state()?.state !== "paused" ? Promise.resolve([])
    : api.heldWrites(who, name).then((list) => heldView(list, time())).catch((err) => [el("p", { class: "problem" }, err.message)]));
  // showHeld reads the held writes, one request at a time.
  const showHeld = () => {
    reading ||= readHeld().then((views) => {
      reading = null;
      update(held, state()?.state === "paused" ? views : []);
    });
  };
  const refresh = () => {
    const focused = document.activeElement;
    const s = state()?.state || "running", reason = state()?.reason;
    pause.hidden = s !== "running";
    resume.hidden = step.hidden = s !== "paused";
    for (const [verb, choice] of Object.entries({ stop, start, remove })) choice.hidden = state()?.stopVerb !== verb;
    delay.hidden = fault.hidden = !["running", "paused"].includes(s);
    clear.hidden = !reason || s === "off";
    if (buttons.contains(focused) && focused.hidden) buttons.querySelector(":scope > :not([hidden])")?.focus();
    showHeld();
  };
  const buttons = el("div", { class: "buttons" }, pause, step, resume, delay, fault, clear, stop, start, remove);
  return { element: el("div", { class: "controls" }, buttons, result, held), refresh };
}

// select returns a menu that acts on a choice and then shows its title again.
function select(title, options, choose) {
  const menu = el("select", { "aria-label": title, on: { change: () => {
    const i = menu.selectedIndex - 1;
    menu.selectedIndex = 0;
    if (i >= 0) choose(options[i][1]);
  } } }, el("option", {}, title), options.map(([text]) => el("option", {}, text)));
  return menu;
}

const target = (w) => `${w.verb} ${kindName(kindKey(w.object))} ${w.object.name || ""}` + (w.subresource ? ` (${w.subresource})` : "");

function heldView(list, now) {
  if (!list.items?.length) return [el("p", { class: "faint" }, "No write is held: the next one will wait here.")];
  return [el("h3", {}, `Held writes: ${list.total}`), el("ol", { class: "held" }, list.items.map((w) =>
    el("li", {}, target(w), el("span", { class: "faint" }, " for " + duration(Math.max(0, now - Date.parse(w.since)) * 1e6)))))];
}

function stepped(write) {
  if (!write) return [el("p", { class: "faint" }, "No write was held within 20 s.")];
  const outcome = write.error ? el("p", { class: "problem" }, write.error) : diffView(write.before, write.after, write.unseen);
  return [el("p", {}, "Released: ", el("b", {}, target(write)), write.status ? ` → ${write.status}` : ""), outcome];
}
