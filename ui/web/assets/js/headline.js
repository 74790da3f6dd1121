// The sentence at the top: what is wrong, or which controller is busiest and why.

import { count, kindKey, kindName, shortName } from "./names.js";
import { noisy } from "./plan.js";

const lately = 5000; // ms
const most = 4000; // events that are kept
// worrying are the keys of a controller that fail and are worth attention.
const worrying = (c) => (c.failing || []).filter((f) => f.worrying);

// waitNote says that a controller waits for a kind, and why that cannot be listed.
export const waitNote = (c) => (c.unlisted ? "waits: a kind that it needs cannot be listed: " + c.unlisted : "");

const isOff = (c) => c.state === "off";

const failureText = ([f, ...more]) => `${reasonOf(f.error) || "requeued"} (${f.key || "a key"}${more.length ? ` and ${more.length} more` : ""})`;

// reasonOf leaves out what an error begins with before it says the reason.
const reasonOf = (error = "") => error.replace(/^Internal error occurred: /, "").replace(/^.*? is forbidden: (?:User "[^"]*" (cannot \w+) resource "([^"]*)")?/, (_, cannot, what) => (cannot ? `${cannot} ${what}` : ""));

const wait = (keys) => `${count(keys, "key")} wait` + (keys === 1 ? "s" : "");

const clearly = 1.3; // by how much another controller has to be busier

export class Headline {
  constructor(model) {
    this.model = model;
    this.reset();
  }

  reset() {
    this.events = []; // that queued a key
    this.rejected = []; // calls of clients
    this.burst = new Map(); // controllers: how many keys they did since all was settled and shown
    this.busiest = "";
  }

  // add notes a record.
  add(r, now) {
    if (r.client && r.failed && !r.conflict && !(r.verb === "get" && r.status === 404)) this.rejected = [...this.rejected.slice(-most / 100), { at: now, actor: r.controller, error: r.error }];
    if (r.kind === "synced" && !noisy.has(r.queue)) this.burst.set(r.controller, (this.burst.get(r.controller) || 0) + 1);
    if (r.kind !== "delivered" || !r.queues?.some((q) => !noisy.has(q))) return;
    this.events.push({ at: now, actor: r.controller, kind: kindKey(r.object) });
    if (this.events.length > most) this.events.splice(0, most / 2);
  }

  // text returns the sentence, and what it is: bad, paused, busy or "". What is wrong may be
  // with any controller, the busiest one is of the given names. Problems of objects
  // count once all is settled: until then they may pass.
  text(names, now) {
    const { model } = this;
    this.events = this.events.filter((e) => now - e.at < 4 * lately);
    this.rejected = this.rejected.filter((e) => now - e.at < 2 * lately);
    this.busiest = this.findBusiest(names);
    const all = [...model.controllers.values()];
    if (model.endedOperator) return ["bad", "The operator of dev does not run: " + model.endedOperator];
    const broken = all.find((c) => c.state === "failed");
    if (broken) return ["bad", `${shortName(broken.name)} has failed: ${broken.reason}`];
    const failing = all.filter((c) => worrying(c).length > 0).sort((a, b) => isOff(a) - isOff(b))[0];
    if (failing) return ["bad", `${shortName(failing.name)} ${isOff(failing) ? "failed before the stop" : "fails"}: ` + failureText(worrying(failing))];
    for (const name of this.failingClients()) {
      const { error } = this.rejected.findLast((e) => e.actor === name);
      return ["bad", `${shortName(name)} fails: ${reasonOf(error) || "no response"}`];
    }
    const refused = [...model.clients.values()].find((c) => c.refused);
    if (refused) return ["bad", `${shortName(refused.name)}: ${refused.refused}`];
    const [loop] = model.hotLoops;
    if (loop) return ["bad", `${shortName(loop.name)} is in a hot loop: ${loop.work} causes itself again and again`];
    const paused = [...all, ...model.clients.values()].find((c) => c.state === "paused");
    if (paused) return ["paused", `${shortName(paused.name)} is paused: ${this.waits(paused)}`];
    if (model.process.settled && model.problems) return ["bad", model.problems];
    return this.busiest ? ["busy", `${shortName(this.busiest)} is busiest: ${this.why(this.busiest, now)}`] : ["", ""];
  }

  // failingClients are the clients of which several calls have failed lately.
  failingClients() {
    const by = Map.groupBy(this.rejected, (e) => e.actor);
    return [...by].filter(([, list]) => list.length > 2).map(([name]) => name);
  }

  waits(c) {
    if (c.process) return c.reason; // of an operator that is paused and does not run
    const waiting = this.model.depth(c.name), inFlight = this.model.inFlight(c.name);
    if (waiting > 0) return wait(waiting) + (inFlight > 0 ? `, ${inFlight} in work` : "");
    return inFlight > 0 ? `${count(inFlight, "key")} in work` : c.held > 0 ? count(c.held, "held write") : "its next write will wait";
  }

  // why says what a controller has to do, and which events led to it.
  why(name, now) {
    const { model } = this;
    const depth = model.depth(name), rate = this.doneRate(name);
    const what = depth > 0 ? wait(depth) : rate >= 1 ? `${Math.round(rate)} keys/s` : `works on ${model.controllers.get(name)?.running?.[0]?.key || "a key"}`;
    return what + this.after(name, now - lately);
  }

  // after says which events were most for a controller since a time.
  after(name, since) {
    const kinds = new Map();
    for (const e of this.events) if (e.actor === name && e.at > since) kinds.set(e.kind, (kinds.get(e.kind) || 0) + 1);
    const [kind] = [...kinds].sort((a, b) => b[1] - a[1])[0] || [];
    return kind ? `, after ${kindName(kind)} events` : "";
  }

  // settled is the sentence when nothing is left to do, while the picture still shows how it
  // was done. It forgets the work that is shown.
  settled(names, isShown) {
    if (isShown) this.burst.clear();
    const [name, keys] = [...this.burst].filter(([name]) => names.includes(name)).sort((a, b) => b[1] - a[1])[0] || [];
    if (!name) return "Settled: no controller has work.";
    return `Settled. Busiest was ${shortName(name)}: ${count(keys, "key")}${this.after(name, -Infinity)}.`;
  }

  doneRate(name) {
    return (this.model.queues.get(name) || []).filter((q) => !noisy.has(q.name)).reduce((sum, q) => sum + Math.max(q.doneRate || 0, 0), 0);
  }

  // findBusiest returns the controller with the most keys waiting, or else with the most
  // keys done. The one before stays as long as it is about as busy.
  findBusiest(names) {
    const load = (name) => this.model.depth(name) * 1000 + this.model.inFlight(name) * 10 + this.doneRate(name);
    let [best, most] = ["", 0.9];
    for (const name of names) if (load(name) > most) [best, most] = [name, load(name)];
    return names.includes(this.busiest) && load(this.busiest) > 0.9 && load(this.busiest) * clearly >= most ? this.busiest : best;
  }
}
