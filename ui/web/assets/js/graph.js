// Which nodes and edges the diagram has.

import { resourceOf } from "./names.js";

// At rest the diagram shows the loop that everybody meets first.
export const familiarControllers = ["deployment-controller", "replicaset-controller", "kube-scheduler", "simulated-kubelet"];
const familiarKinds = ["deployments.apps", "replicasets.apps", "pods"];

// What these write is shown before they have written it: [kind, creates].
const familiarWrites = {
  "deployment-controller": [["deployments.apps", false], ["replicasets.apps", true]],
  "replicaset-controller": [["replicasets.apps", false], ["pods", true]],
  "kube-scheduler": [["pods", false]],
  "simulated-kubelet": [["pods", false]],
};

const keepFor = 60e3; // ms since the last write
const watchesAlmostAll = 20; // kinds: the edges of such a controller would hide all others

// choose returns the nodes and edges to show: {clients, kinds, controllers, edges, hidden}.
// With a focus they are about the controllers that it names, with a filter about what it
// limits the picture to.
export function choose(model, { now, factor, showInternals, pinned, room, focus, filter }) {
  const familiar = focus.length ? focus : familiarControllers;
  const about = (c) => !focus.length || focus.includes(c.name) || pinned.has(c.name) || c.state === "paused" || !!c.reason;
  const recent = (at) => now - at < keepFor * Math.max(factor, 1);
  const active = (c) => recent(model.lastWrite(c.name)) || (model.changed.has(c.name) && c.state !== "off") || pinned.has(c.name) ||
    model.depth(c.name) > 0 || c.failing?.length > 0 || !!c.unlisted;
  const rank = (c) => (pinned.has(c.name) || c.reason ? 1e15 : 0) + Math.max(model.lastWrite(c.name), 0) + (familiar.includes(c.name) ? 1e14 : 0);
  const isCandidate = (c) => showInternals
    ? c.state !== "off" && (active(c) || familiar.includes(c.name) || c.internal || model.inFlight(c.name) > 0 || recentlyDone(model, c.name))
    : !c.internal && about(c) && (active(c) || familiar.includes(c.name));
  const isChosen = (c) => (filter.controller ? c.name === filter.controller : filter.kind ? filter.isLinked(c.name) && (isCandidate(c) || c.state !== "off" && !c.internal) : isCandidate(c));
  const candidates = [...model.controllers.values()].filter(isChosen);
  candidates.sort((a, b) => rank(b) - rank(a));
  const controllers = candidates.slice(0, room).map((c) => c.name);
  const counted = [...model.controllers.values()].filter((c) => controllers.includes(c.name) || c.state !== "off" && (showInternals || !c.internal));
  const clients = [...model.clients.values()].filter((c) => (model.wrote.has(c.name) || c.watched.length > 0 || c.state === "paused" || pinned.has(c.name)) && (!filter.kind || filter.isLinked(c.name)))
    .sort((a, b) => Math.max(model.lastWrite(b.name), 0) - Math.max(model.lastWrite(a.name), 0)).slice(0, 5).map((c) => c.name);
  const actors = new Set([...controllers, ...clients]);
  let kinds = filter.kind ? [filter.kind] : filter.controller ? kindsOf(model, filter.controller, room) : chooseKinds(model, actors, recent, pinned, room);
  const edges = edgesOf(model, actors, kinds);
  const linked = kinds.filter((kind) => edges.some((e) => e.kind === kind) || pinned.has("kind:" + kind));
  if (focus.length && linked.length) kinds = linked;
  if (filter.controller) clients.splice(0, Infinity, ...clients.filter((name) => edges.some((e) => e.actor === name)));
  return { clients, kinds, controllers, edges: edges.filter((e) => controllers.includes(e.actor) || clients.includes(e.actor)), hidden: counted.length - controllers.length, crowded: candidates.length - controllers.length };
}

const recentlyDone = (model, name) => (model.queues.get(name) || []).some((q) => q.doneRate > 0);

function chooseKinds(model, actors, recent, pinned, room) {
  const last = new Map(familiarKinds.map((k) => [k, 1e15]));
  for (const [kind, at] of model.touched) {
    if (recent(at) && [...actors].some((a) => model.wrote.get(a)?.has(kind))) last.set(kind, Math.max(last.get(kind) || 0, at));
  }
  for (const c of model.clients.values()) { // what an operator is about
    if (actors.has(c.name)) for (const kind of c.watched) if (model.wrote.has(c.name) && !last.has(kind)) last.set(kind, 0);
  }
  for (const id of pinned) {
    const kind = id.replace(/^kind:/, "");
    if (model.touched.has(kind)) last.set(kind, 1e15);
  }
  return [...last].sort((a, b) => b[1] - a[1]).slice(0, room).map(([kind]) => kind);
}

// kindsOf returns the kinds that a controller writes or watches, most recently written first.
function kindsOf(model, name, room) {
  const actor = model.actor(name);
  const written = [...(model.wrote.get(name)?.keys() || []), ...(familiarWrites[name] || []).map(([kind]) => kind), ...(actor?.written || [])];
  const all = [...new Set([...written, ...(actor?.watched || [])])];
  const last = (kind) => (written.includes(kind) ? 1e15 : 0) + (model.touched.get(kind) || 0);
  return all.sort((a, b) => last(b) - last(a)).slice(0, room);
}

function edgesOf(model, actors, kinds) {
  const edges = [];
  for (const name of actors) {
    const actor = model.actor(name);
    const watches = new Set(actor?.watched);
    const written = new Map(model.wrote.get(name) || []);
    for (const [kind, creates] of familiarWrites[name] || []) written.set(kind, { ...written.get(kind), creates });
    for (const w of actor?.writes || []) {
      const [resource, subresource] = w.resource.split("/");
      const creates = w.verb === "create" && !subresource;
      written.set(resource, { ...written.get(resource), creates: written.get(resource)?.creates || creates });
    }
    for (const kind of kinds) {
      const writes = written.get(kind);
      if (watches.has(kind) && (watches.size <= watchesAlmostAll || writes || resourceOf(kind) === "pods" && name === "kube-scheduler")) {
        edges.push({ type: "watch", actor: name, kind, primary: !!writes && !writes.creates });
      }
      if (writes) edges.push({ type: "write", actor: name, kind, creates: !!writes.creates });
    }
  }
  return edges;
}
