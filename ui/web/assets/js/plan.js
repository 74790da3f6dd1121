// When the picture shows each record. A control plane answers in milliseconds; the picture
// gives each step the time that an eye needs, and keeps cause before effect: a dot leaves
// a kind only after the write that it is about has arrived there. So the picture is behind
// by the length of a chain of causes, but not by more than maxBehind.

import { Bounded, failed, isRoutine, isWrite, versionKey, writeVersions } from "./model.js";
import { kindKey } from "./names.js";

const travelTime = 650; // ms from one node to another
const waitTime = 240; // in the queue, at least
const workTime = 320; // at a worker, at least
const longestWork = 4000;
const maxBehind = 15000; // ms
const comfortable = 5000; // behind by more than this, everything moves faster
const kept = 8000; // records of each kind that causes are looked up in

// noisy are queues that receive every event of a kind, whatever it is about.
const noisy = new Set(["garbage_collector_graph_changes", "resource_quota_controller_resource_changes", "noexec_taint_pod", "noexec_taint_node"]);

export class Plan {
  constructor() {
    this.reset();
  }

  reset() {
    this.writes = new Bounded(kept); // by the version that they produced
    this.deliveries = new Bounded(kept); // by seq
    this.syncs = new Bounded(kept); // by id
    this.failedCalls = new Bounded(kept); // by sync
    this.times = new WeakMap(); // of records: when they begin and end in the picture
    this.end = 0; // of everything planned
  }

  // index notes a record before anything is planned, because a write is recorded after
  // the events that it causes.
  index(r) {
    if (isWrite(r)) for (const version of writeVersions(r)) this.writes.set(version, r);
    if (r.kind === "called" && failed(r) && isWrite(r)) this.failedCalls.set(r.sync, r);
    if (r.kind === "delivered") this.deliveries.set(r.seq, r);
    if (r.kind === "synced") this.syncs.set(r.id, r);
  }

  // isTold reports whether a record says only what one of a failed call says.
  isTold(r) {
    return r.kind === "synced" && !!r.error && this.failedCalls.has(r.id);
  }

  // moves returns what the picture shows of records. played is when a record would be
  // shown if it took no time; now is the present.
  moves(records, played, now) {
    const behind = Math.max(0, this.end - now);
    this.pace = behind <= comfortable ? 1 : Math.max(0.3, comfortable / behind);
    this.played = played;
    const result = [];
    for (const r of records) {
      const move = this.moveOf(r);
      if (!move) continue;
      this.end = Math.max(this.end, move.end);
      result.push(move);
    }
    return result;
  }

  moveOf(r) {
    switch (r.kind) {
    case "delivered":
      return this.isKey(r) ? { type: "event", record: r, actor: r.controller, kind: kindKey(r.object), ...this.delivery(r) } : null;
    case "synced":
      return noisy.has(r.queue) ? null : { type: "work", record: r, actor: r.controller, ...this.sync(r) };
    case "called":
      if (!isWrite(r) || isRoutine(r) || !r.object?.resource) return null;
      return { type: failed(r) ? "failed" : "write", record: r, actor: r.controller, kind: kindKey(r.object), ...this.write(r) };
    }
    return null;
  }

  isKey(r) {
    return (r.queues || []).some((q) => !noisy.has(q));
  }

  // once computes the times of a record, unless they are known or being computed.
  once(r, compute) {
    const known = this.times.get(r);
    if (known) return known;
    const at = this.played(r);
    this.times.set(r, { start: at, end: at }); // for a cycle, which a clock that is set back can make
    const times = compute(at);
    const start = Math.min(times.start, at + maxBehind);
    const result = { ...times, start, end: Math.min(times.end, start + (times.end - times.start)) };
    this.times.set(r, result);
    return result;
  }

  delivery(r) {
    return this.once(r, (at) => {
      const o = r.object;
      const cause = this.writes.get(versionKey(kindKey(o), o.namespace, o.name, r.resourceVersion));
      const start = cause ? Math.max(at, this.write(cause).end) : at;
      return { start, end: start + travelTime * this.pace };
    });
  }

  sync(r) {
    return this.once(r, (at) => {
      const took = Math.min(longestWork, r.tookNanos / 1e6);
      let queued = at - took;
      const event = this.deliveries.get(r.cause);
      const before = this.syncs.get(r.causeSync);
      if (event) queued = this.delivery(event).end;
      else if (before) queued = this.sync(before).end;
      const start = Math.max(queued + waitTime * this.pace, at - took);
      return { start, queued, end: start + Math.max(workTime * this.pace * (r.writes ? 1 + Math.min(r.writes, 6) / 4 : 1), took), sent: 0 };
    });
  }

  write(r) {
    return this.once(r, (at) => {
      let start = at;
      const sync = this.syncs.get(r.sync);
      if (sync) { // the writes of a sync leave one after the other
        const s = this.sync(sync);
        const n = Math.max(1, sync.writes || 1);
        start = s.start + (s.end - s.start) * Math.min(1, ++s.sent / (n + 1));
      }
      return { start, end: start + travelTime * this.pace };
    });
  }
}
