// Trace and why: trees of causes and effects, as "ctrlplane trace -o json" has them.

import { button, el } from "./dom.js";
import { count, duration, kindKey, kindName, shortName, verbs } from "./names.js";

const changes = { listed: "existed", added: "was added", updated: "was updated", resynced: "was delivered again", deleted: "was deleted" };

// sentence says what a node is: [who, what].
function sentence(n) {
  const kind = n.object ? kindName(kindKey(n.object)) : "";
  const what = n.object ? `${kind} ${n.object.name || ""}` : "";
  switch (n.kind) {
  case "sync":
    return [shortName(n.controller || "?"), `worked on ${n.key || "a key"}${n.open ? ", still in work" : ""}`];
  case "event":
    return [shortName(n.controller || "?"), `received: ${what} ${changes[n.change] || n.change}`];
  case "outside":
    return ["an unrecorded write", `${n.verb} ${what}`];
  }
  return [shortName(n.controller || "?"), `${verbs[n.verb] || n.verb} ${what}${n.subresource ? " (" + n.subresource + ")" : ""}`];
}

function nodeLine(n, open) {
  const [who, what] = sentence(n);
  const times = ["+" + duration(Math.max(0, n.afterNanos)), n.waitedNanos ? "waited " + duration(n.waitedNanos) : "", n.tookNanos ? "took " + duration(n.tookNanos) : ""].filter(Boolean).join(", ");
  const text = [el("b", {}, who), " " + what];
  return el("div", { class: "cause " + n.kind + (n.conflict ? " conflict" : n.error ? " bad" : "") + (n.cause?.certainty === "likely" ? " likely" : "") },
    n.object?.name && n.object.resource && n.kind !== "sync" ? el("button", { type: "button", class: "link", on: { click: () => open(n.object) } }, text) : el("span", {}, text),
    el("span", { class: "faint when" }, times, n.cause?.certainty === "likely" ? " · likely cause" : ""),
    n.conflict || n.error ? el("span", { class: "problem" }, (n.conflict ? "conflict: " : "") + (n.error || "")) : null);
}

const shownNodes = 400;

// causesView shows a trace.
export function causesView(tree, open) {
  let left = shownNodes;
  const branch = (nodes) => el("ul", { class: "tree" }, nodes.map((n) => {
    if (left-- <= 0) return null;
    return el("li", {}, nodeLine(n, open), n.children?.length ? branch(n.children) : null);
  }));
  const whole = branch(tree.roots || []);
  return el("div", {}, el("p", { class: "faint" }, `What it set off, in ${duration(tree.tookNanos)}. `, dropped(tree.missed)), whole,
    left < 0 ? el("p", { class: "faint" }, `${count(-left, "more entry").replace("entrys", "entries")}: "ctrlplane trace" prints all`) : null);
}

// chainView shows a chain of causes.
export function chainView(chain, open) {
  const titles = { created: "Why was it created?", changed: "Why was it changed?", deleted: "Why was it deleted?",
    refused: "Why was a write refused?", failed: "Why did a write fail?" };
  return el("div", {}, el("h3", {}, titles[chain.what] || chain.what), el("p", { class: "faint" }, "The last link is the first cause. ", dropped(chain.missed)),
    el("ol", { class: "chain" }, (chain.links || []).map((n) => el("li", {}, nodeLine(n, open)))),
    chain.complete ? null : el("p", { class: "faint" }, "What led to the last link is not recorded."));
}

const dropped = (missed) => (missed ? `${missed} older records were dropped.` : "");

