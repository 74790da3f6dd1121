// When the picture shows each record. A control plane answers in milliseconds; the picture
// gives each step the time that an eye needs, and keeps cause before effect: a dot leaves
// a kind only after the write that it is about has arrived there. So the picture is behind
// by the length of a chain of causes. The more it is behind, the faster it moves, so that it
// is never behind by more than maxBehind.

import { Bounded, isDrawn, isWrite, versionKey, writeVersions } from "./model.js";
import { kindKey } from "./names.js";

const travelTime = 650; // ms from one node to another
const waitTime = 240; // in the queue, at least
const workTime = 320; // at a worker, at least
const longestWork = 4000;
const comfortable = 5000; // behind by more than this, everything moves faster
const maxBehind = 15000;
const longestGap = 1000; // in which nothing happens
const kept = 8000; // records of each kind that causes are looked up in
const openFor = 60e3; // ms after which an event without a sync is forgotten

// noisy are queues that receive every event of a kind, whatever it is about.
export const noisy = new Set(["garbage_collector_graph_changes", "resource_quota_controller_resource_changes", "noexec_taint_pod", "noexec_taint_node"]);

// past are the times of a record that is not shown, because it was there before.
const past = { start: -1e12, queued: -1e12, end: -1e12, sent: 0 };

// paceOf is how long a step takes, as a share of its normal time.
const paceOf = (behind) => Math.min(1, Math.max(0, (maxBehind - behind) / (maxBehind - comfortable)));

export class Plan {
  constructor() {
    this.reset();
  }

  reset() {
    this.writes = new Bounded(kept); // by the version that they produced
    this.deliveries = new Bounded(kept); // by seq
    this.syncs = new Bounded(kept); // by id
    this.times = new WeakMap(); // of records: when they begin and end in the picture
    this.open = new Map(); // by actor: events whose sync is not known, by seq
    this.early = new Bounded(kept); // by sync: when its writes left, if they were planned before it was known
    this.end = 0; // of everything planned
    this.rebase();
  }

  // rebase forgets how the time of the records and that of the picture belong together.
  rebase() {
    this.shift = null;
  }

  // index notes a record before anything is planned, because a write is recorded after
  // the events that it causes.
  index(r, isPast) {
    if (isPast) this.times.set(r, past);
    if (isWrite(r)) for (const version of writeVersions(r)) this.writes.set(version, r);
    if (r.kind === "delivered") this.deliveries.set(r.seq, r);
    if (r.kind === "synced") this.syncs.set(r.id, r);
  }

  // isComplete reports whether the cause of a record is known. A write is recorded when it
  // is answered, and a sync when it ends: their effects may be recorded before.
  isComplete(r) {
    switch (r.kind) {
    case "delivered":
      return !this.isKey(r) || !r.resourceVersion || r.change === "listed" || r.change === "resynced" || !!this.causeOf(r);
    case "called":
      return !r.sync || !isDrawn(r) || this.syncs.has(r.sync);
    }
    return true;
  }

  // moves returns what the picture shows of records from now on, in order. Time in the
  // records passes factor times as fast as in the picture.
  moves(records, now, factor = 1) {
    const shown = new Map();
    for (const r of records) shown.set(r, this.shownAt(Date.parse(r.time) / factor, now));
    const soon = (r) => Math.max(now, Math.min(now + longestGap, Date.parse(r.time) / factor + this.shift));
    this.played = (r) => shown.get(r) ?? soon(r); // what was received, but comes later
    const result = [];
    for (const r of records) {
      const move = this.moveOf(r);
      if (!move) continue;
      this.end = Math.max(this.end, move.end);
      result.push(move);
    }
    return result.sort((a, b) => a.start - b.start);
  }

  // shownAt keeps the distances in time at which records happened.
  shownAt(at, now) {
    const wanted = at + this.shift;
    if (this.shift === null || wanted < now || wanted > now + longestGap) this.shift = now - at;
    return at + this.shift;
  }

  moveOf(r) {
    switch (r.kind) {
    case "delivered":
      return this.isKey(r) ? { type: "event", record: r, actor: r.controller, kind: kindKey(r.object), ...this.delivery(r) } : null;
    case "synced":
      return noisy.has(r.queue) ? null : { type: "work", record: r, actor: r.controller, ...this.sync(r) };
    case "called":
      if (!isDrawn(r)) return null;
      return { type: r.failed ? "failed" : "write", record: r, actor: r.controller, kind: kindKey(r.object), ...this.write(r) };
    }
    return null;
  }

  isKey(r) {
    return (r.queues || []).some((q) => !noisy.has(q));
  }

  causeOf(r) {
    const o = r.object;
    return this.writes.get(versionKey(kindKey(o), o.namespace, o.name, r.resourceVersion));
  }

  // once computes the times of a record, unless they are known or being computed.
  once(r, compute) {
    const known = this.times.get(r);
    if (known) return known;
    const at = this.played(r);
    this.times.set(r, { start: at, end: at }); // for a cycle, which a clock that is set back can make
    const times = compute(at);
    this.times.set(r, times);
    return times;
  }

  delivery(r) {
    return this.once(r, (at) => {
      const cause = this.causeOf(r);
      const start = cause ? Math.max(at, this.write(cause).end) : at;
      const times = { start, end: start + travelTime * paceOf(start - at) };
      if (this.isKey(r)) this.noteOpen(r, times.end);
      return times;
    });
  }

  noteOpen(r, end) {
    if (!this.open.has(r.controller)) this.open.set(r.controller, new Bounded(kept));
    this.open.get(r.controller).set(r.seq, end);
  }

  sync(r) {
    return this.once(r, (at) => {
      const took = Math.min(longestWork, r.tookNanos / 1e6);
      let queued = at - took;
      const event = this.deliveries.get(r.cause);
      const before = this.syncs.get(r.causeSync);
      if (event) queued = this.delivery(event).end;
      else if (before) queued = this.sync(before).end;
      this.open.get(r.controller)?.delete(r.cause);
      const pace = paceOf(queued - (at - took));
      let start = Math.max(queued + waitTime * pace, at - took);
      let end = start + Math.max(workTime * pace * (r.writes ? 1 + Math.min(r.writes, 6) / 4 : 1), took);
      const early = this.early.get(r.id);
      if (early) {
        start = Math.max(queued, Math.min(start, early.first));
        end = Math.max(start + workTime * pace, early.last);
      }
      return { start, queued, end, sent: 0 };
    });
  }

  write(r) {
    return this.once(r, (at) => {
      let start = at;
      const sync = this.syncs.get(r.sync);
      if (sync) { // the writes of a sync leave one after the other
        const s = this.sync(sync);
        const n = Math.max(1, sync.writes || 1);
        start = Math.max(at, s.start + (s.end - s.start) * Math.min(1, ++s.sent / (n + 1)));
      } else if (r.sync) {
        start = this.startOfOpenSync(r, at);
        const early = this.early.get(r.sync);
        this.early.set(r.sync, { first: early?.first ?? start, last: start });
      }
      return { start, end: start + travelTime * paceOf(start - at) };
    });
  }

  // startOfOpenSync is when a write of a sync that has not ended can leave: the event that
  // caused it is one of those that are still open.
  startOfOpenSync(r, at) {
    let start = at;
    const events = this.open.get(r.controller) || new Map();
    for (const [seq, end] of events) {
      if (end < at - openFor) events.delete(seq);
      else if (seq < r.seq && end + waitTime * paceOf(end - at) > start) start = end + waitTime * paceOf(end - at);
    }
    return start;
  }
}
