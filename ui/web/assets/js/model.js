// What the page knows: the last status, and what the records say about activity.

import { kindKey, learnKind } from "./names.js";

export const isWrite = (r) => r.kind === "called" && !["get", "list", "watch"].includes(r.verb);
// isDrawn reports whether a record is a write that the picture shows: one that is listed, unless it only reports an Event.
export const isDrawn = (r) => isWrite(r) && r.listed && !r.event && !!r.object?.resource;
// writeVersions are the versions that a write has produced: those of the storage or, where
// it does not report them, that of the answer.
export function writeVersions(r) {
  if (r.wrote) return r.wrote.map((w) => versionKey(w.resource, w.namespace, w.name, w.resourceVersion));
  if (!r.resourceVersion) return [];
  return [versionKey(kindKey(r.object), r.object.namespace, r.object.name, r.resourceVersion)];
}

export const versionKey = (resource, namespace, name, version) => [resource, namespace || "", name, version].join("|");

// Bounded is a map that forgets the entries that were set least recently.
export class Bounded extends Map {
  constructor(limit) {
    super();
    this.limit = limit;
  }
  set(key, value) {
    this.delete(key); // a map keeps the place of a key that it has
    super.set(key, value);
    if (this.size > this.limit) this.delete(this.keys().next().value);
    return this;
  }
}

// withKinds adds to a controller or client the kinds that it watches and writes. A client watches parts of a kind.
const withKinds = (actor) => ({ ...actor, watched: unique((actor.watches || []).map((w) => w.resource || w)), written: unique((actor.writes || []).map((w) => w.resource.split("/")[0])) });

const unique = (list) => [...new Set(list)];

const mostNamespaces = 200;
const mostDelayed = 5000; // ms that a snapshot may take to arrive

export class Model {
  constructor() {
    this.controllers = new Map();
    this.clients = new Map();
    this.queues = new Map(); // by controller
    this.process = {};
    this.speed = ""; // not known yet
    this.state = ""; // in a word
    this.interventions = [];
    this.hotLoops = []; // the hottest first
    this.changed = new Set(); // the controllers and clients with an intervention
    this.playback = null; // of a recording
    this.reset();
  }

  // reset forgets the records: a restarted control plane counts them from 1 again.
  reset() {
    this.lastSeq = 0;
    this.touched = new Map(); // when a kind was written last, by key
    this.wrote = new Map(); // by controller or client: by kind: {last, creates}
    this.latest = 0; // the newest time of the control plane's clock
    this.latestAt = 0; // when that was
    this.namespaces = new Bounded(mostNamespaces);
    this.recent = new Map(); // by kind: the objects that were written last
  }

  setStatus({ controllers, clients, speed, state, failing = "", problems = "", loops = [], endedOperator = "", interventions }) {
    this.speed = speed || "1";
    this.controllers = new Map(controllers.map((c) => [c.name, withKinds(c)]));
    this.clients = new Map(clients.map((c) => [c.name, withKinds(c)]));
    Object.assign(this, { state, failing, problems, hotLoops: loops, endedOperator, interventions }); // failing and problems are texts
    this.changed = new Set(interventions.map((i) => i.name));
  }

  setSnapshot({ process, queues, time }) {
    const at = Date.parse(time) || 0;
    if (at < this.latest + performance.now() - this.latestAt - mostDelayed) this.latest = 0; // the clock was set back
    this.notice(at);
    this.process = process;
    this.queues = Map.groupBy(queues, (q) => q.controller || "");
  }

  // add notes a record, and reports whether it is new.
  add(r) {
    if (r.seq <= this.lastSeq) return false;
    this.lastSeq = r.seq;
    learnKind(r.object);
    if (r.object?.namespace) this.namespaces.set(r.object.namespace, true);
    this.notice(Date.parse(r.time) || 0);
    if (isDrawn(r)) this.addWrite(r, Date.parse(r.time) || 0);
    return true;
  }

  // notice notes a time of the control plane's clock. Those of records may be old.
  notice(time) {
    if (time > this.latest) Object.assign(this, { latest: time, latestAt: performance.now() });
  }

  // time is that of what is shown, in ms: of the recording, or of the control plane.
  time() {
    return this.playback ? this.playback.now() : this.latest + performance.now() - this.latestAt;
  }

  addWrite(r, at) {
    const kind = kindKey(r.object);
    this.touched.set(kind, at);
    const kinds = this.wrote.get(r.controller) || new Map();
    this.wrote.set(r.controller, kinds);
    kinds.set(kind, { last: at, creates: kinds.get(kind)?.creates || (r.verb === "create" && !r.subresource) });
    if (!r.object.name) return;
    const list = (this.recent.get(kind) || []).filter((o) => o.name !== r.object.name || o.namespace !== r.object.namespace);
    this.recent.set(kind, [r.object, ...list].slice(0, 30));
  }

  // addClient notes the client of a write that the status does not have yet: its first write is shown, too.
  addClient(r) {
    const name = r.controller;
    if (r.client && isWrite(r) && !this.actor(name)) this.clients.set(name, withKinds({ ...r.client, name, state: "running", requests: 0, reads: 0, changes: 0, errors: 0, conflicts: 0 }));
  }

  lastWrite(actor) {
    return Math.max(-Infinity, ...[...(this.wrote.get(actor)?.values() || [])].map((w) => w.last));
  }

  // actor returns a controller or a client by name.
  actor(name) {
    return this.controllers.get(name) || this.clients.get(name);
  }

  depth(name) {
    return (this.queues.get(name) || []).filter((q) => !q.parked).reduce((sum, q) => sum + Math.max(q.depth, 0), 0);
  }

  inFlight(name) {
    return (this.queues.get(name) || []).filter((q) => !q.parked).reduce((sum, q) => sum + Math.max(q.inFlight, 0), 0);
  }

  // workers is how many workers a controller has; 0 if that is not known of each of its queues.
  workers(name) {
    const queues = this.queues.get(name) || [];
    return queues.every((q) => q.workers) ? queues.reduce((sum, q) => sum + q.workers, 0) : 0;
  }

  loops(name) {
    return this.hotLoops.some((l) => l.name === name);
  }

  delayed(name) {
    return (this.queues.get(name) || []).reduce((sum, q) => sum + Math.max(q.delayedAtMost, 0), 0);
  }
}
