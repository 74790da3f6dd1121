// Trace and why: trees of causes and effects, as "ctrlplane trace -o json" has them.

import { button, el } from "./dom.js";
import { count, duration, kindKey, kindName, shortName, verbOf } from "./names.js";

const changes = { listed: "existed", added: "was added", updated: "was updated", resynced: "was delivered again", deleted: "was deleted" };
const transitions = { Ready: "became Ready", NotReady: "became not Ready", Succeeded: "succeeded", Failed: "failed" };

// kindNames returns a function that names the kind of an object: with its group if kinds of several groups have the name.
function kindNames(nodes) {
  const groups = new Map();
  const name = (o) => kindName(kindKey(o));
  for (const { object } of nodes) if (object) groups.set(name(object), (groups.get(name(object)) || new Set()).add(object.group || ""));
  return (o) => (o.group && groups.get(name(o)).size > 1 ? `${name(o)}.${o.group}` : name(o));
}

// sentence says what a node is: [who, what].
function sentence(n, kind) {
  const what = n.object ? `${kind(n.object)} ${n.object.name || ""}` : "";
  switch (n.kind) {
  case "sync":
    return [shortName(n.controller || "?"), `worked on ${n.key || "a key"}${n.open ? ", still in work" : ""}`];
  case "event":
    return [shortName(n.controller || "?"), `received: ${what} ${transitions[n.became] || changes[n.change] || n.change}`];
  case "outside":
    return ["an unrecorded write", `${n.verb} ${what}`];
  }
  return [shortName(n.controller || "?"), `${verbOf(n)} ${what}${n.subresource ? " (" + n.subresource + ")" : ""}`];
}

// problem says why a node has failed; a deletion of what is gone has not.
function problem(n) {
  if (n.conflict) return el("span", { class: "problem" }, "conflict: " + (n.error || ""));
  if (n.failed) return el("span", { class: "problem" }, n.error || "no response");
  return n.error ? el("span", { class: "faint" }, "it did not exist") : null;
}

function nodeLine(n, kind, open) {
  const [who, what] = sentence(n, kind);
  const times = ["+" + duration(Math.max(0, n.afterNanos)), n.waitedNanos ? "waited " + duration(n.waitedNanos) : "", n.tookNanos ? "took " + duration(n.tookNanos) : ""].filter(Boolean).join(", ");
  const text = [el("b", {}, who), " " + what];
  return el("div", { class: "cause " + n.kind + (n.conflict ? " conflict" : n.failed ? " bad" : "") + (n.cause?.certainty === "likely" ? " likely" : "") },
    n.object?.name && n.object.resource && n.kind !== "sync" ? el("button", { type: "button", class: "link", on: { click: () => open(n.object) } }, text) : el("span", {}, text),
    el("span", { class: "faint when" }, times, n.cause?.certainty === "likely" ? " · likely cause" : ""),
    problem(n));
}

const shownNodes = 400;

// allNodes returns the nodes of a tree. A hot loop nests thousands of them: too many for a recursion.
function allNodes(roots) {
  const nodes = [...(roots || [])];
  for (const n of nodes) for (const child of n.children || []) nodes.push(child);
  return nodes;
}

// causesView shows a trace.
export function causesView(tree, open) {
  const nodes = allNodes(tree.roots), more = nodes.length - shownNodes;
  let left = shownNodes;
  const kind = kindNames(nodes);
  const branch = (nodes) => el("ul", { class: "tree" }, nodes.map((n) => {
    if (left-- <= 0) return null;
    return el("li", {}, nodeLine(n, kind, open), n.children?.length ? branch(n.children) : null);
  }));
  const whole = branch(tree.roots || []);
  return el("div", {}, el("p", { class: "faint" }, `What it set off, in ${duration(tree.tookNanos)}. `, dropped(tree.missed)), whole,
    more > 0 ? el("p", { class: "faint" }, `${count(more, "more entry").replace("entrys", "entries")}: "ctrlplane trace" prints all`) : null);
}

// changeOf returns which kind of change of its object a record is; undefined if it is none. A Kubernetes Event is shown as a
// line about another object than the one that it creates.
export function changeOf(record) {
  if (record.kind !== "called" || record.event || record.dryRun || !record.status || record.status >= 400) return undefined;
  if (record.subresource === "eviction" || record.verb.startsWith("delete")) return "deleted";
  if (!["create", "update", "patch"].includes(record.verb)) return undefined;
  return record.status === 201 && !record.subresource ? "created" : "changed";
}

// chainView shows a chain of causes; explain asks for that of another change.
export function chainView(chain, open, explain) {
  const titles = { created: "Why was it created?", changed: "Why was it changed?", deleted: "Why was it deleted?",
    refused: "Why was a write refused?", failed: "Why did a write fail?" };
  const links = chain.links || [], since = chain.since || [];
  const kind = kindNames([...links, ...since]);
  const line = (n) => el("li", {}, nodeLine(n, kind, open));
  const others = (chain.recorded || []).filter((what) => what !== chain.what);
  return el("div", {}, el("h3", {}, titles[chain.what] || chain.what),
    others.length ? el("p", { class: "names" }, others.map((what) => button(titles[what], () => explain(what), { class: "link" }))) : null,
    [chain.now, ...(chain.failing || [])].filter(Boolean).map((text) => el("p", { class: "problem" }, text)), (chain.working || []).map((text) => el("p", {}, text)),
    since.length ? [el("h3", {}, "Other changes"), el("ul", { class: "tree" }, since.map(line)), el("h3", {}, "Causes")] : null,
    el("p", { class: "faint" }, "The last link is the first cause. ", dropped(chain.missed)), el("ol", { class: "chain" }, links.map(line)),
    chain.complete ? null : el("p", { class: "faint" }, "What led to the last link is not recorded."));
}

const dropped = (missed) => (missed ? `${missed} older records were dropped.` : "");

