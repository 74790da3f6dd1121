// The dots: everything that moves, on one canvas over the diagram.

import { pointOn } from "./layout.js";

const labelled = 5; // dots at most have a label
const laneKeys = 9; // keys in the queue that are drawn
const unmatchedKey = 1300; // ms for which a key without a known sync is shown: it was merged, or waits

// merging says, for each level, within how many ms two dots on the same edge are drawn as
// one, and up to how many dots a second the level is used.
const merging = [{ near: 0, rate: 220 }, { near: 90, rate: 500 }, { near: 180, rate: 1200 }, { near: 360, rate: 3000 }, { near: 720, rate: Infinity }];
const slowFrame = 24; // ms

export class Dots {
  constructor(canvas, changed) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.changed = changed; // is called with what degrades
    this.moves = [];
    this.waiting = new Map(); // keys whose sync is not known yet, by seq of the event
    this.level = 0;
    this.frames = [];
    this.running = false;
    this.listeners = [];
    this.total = 0;
    this.drawn = 0;
  }

  // setScene sets where everything is: {curves, nodes, scale, width, height, colors}.
  setScene(scene) {
    this.scene = scene;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const [width, height] = [Math.round(scene.width * ratio), Math.round(scene.height * ratio)];
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.start();
  }

  clear() {
    this.moves = [];
    this.waiting.clear();
  }

  add(moves) {
    if (this.frozen) return;
    this.setLevel(moves.filter((m) => m.type !== "work").length);
    for (const m of moves) {
      if (m.type === "event") this.waiting.set(m.record.seq, m);
      if (m.type === "work") {
        const event = this.waiting.get(m.record.cause);
        if (event) event.workStart = m.start;
        this.waiting.delete(m.record.cause);
      }
      if (!this.merge(m)) this.moves.push(m);
    }
    for (const [seq, m] of this.waiting) if (m.end + 60e3 < performance.now()) this.waiting.delete(seq);
    this.start();
  }

  // merge counts a move on one that is drawn at nearly the same time and place.
  merge(m) {
    m.count = 1;
    const { near } = merging[this.level];
    if (!near || m.type === "work") return false;
    const key = m.type + "|" + m.actor + "|" + m.kind;
    const last = (this.last ||= new Map()).get(key);
    if (last && Math.abs(m.start - last.start) < near && last.count < 99) {
      last.count++;
      if (m.workStart) last.workStart = Math.min(last.workStart || Infinity, m.workStart);
      return true;
    }
    this.last.set(key, m);
    return false;
  }

  // each calls f for moves as they arrive: for the feed and the pulses.
  each(f) {
    this.listeners.push(f);
  }

  start() {
    if (this.running || this.frozen || !this.scene) return;
    this.running = true;
    this.frames = [];
    requestAnimationFrame((t) => this.frame(t));
  }

  freeze(frozen) {
    this.frozen = frozen;
    if (frozen) this.frozenAt = performance.now();
    else if (this.frozenAt) {
      this.clear();
      this.frozenAt = 0;
    }
    this.start();
  }

  frame() {
    const now = performance.now();
    this.running = false;
    if (this.frozen) return;
    this.measure(now);
    this.draw(now);
    this.moves = this.moves.filter((m) => this.arrive(m, now));
    if (this.moves.length > 0 || this.pulses.length > 0) {
      this.running = true;
      requestAnimationFrame((t) => this.frame(t));
    } else {
      this.slow = false;
      this.setLevel(0);
    }
  }

  // arrive reports whether a move is still needed, and tells the listeners once it is over.
  arrive(m, now) {
    if (now >= m.start && !m.begun) {
      m.begun = true;
      this.listeners.forEach((f) => f("begin", m));
    }
    if (now >= m.end && !m.over) {
      m.over = true;
      this.listeners.forEach((f) => f("end", m));
      if (m.kind && m.type !== "event") this.pulse("kind:" + m.kind, m.type, now);
    }
    if (m.type === "event") return now < Math.min(m.workStart ?? m.end + unmatchedKey, m.end + 30e3) || !m.over;
    return now < m.end;
  }

  pulses = [];

  // pulse marks that a write has arrived; many of them in a moment are one.
  pulse(node, type, now) {
    if (!this.pulses.some((p) => p.node === node && p.type === type && now - p.at < 180)) this.pulses.push({ node, type, at: now });
  }

  // setLevel adapts how much is merged to the number of moves in the last second, and to
  // the rate of frames.
  setLevel(n) {
    const now = performance.now();
    this.arrivals = this.arrivals.filter((a) => now - a.at < 1000);
    if (n > 0) this.arrivals.push({ at: now, n });
    const rate = this.arrivals.reduce((sum, a) => sum + a.n, 0);
    let level = merging.findIndex((m) => rate <= m.rate);
    if (this.slow) level = Math.min(merging.length - 1, level + 1);
    if (level === this.level) return;
    this.level = level;
    this.changed();
  }

  arrivals = [];

  // measure notes whether frames are slow because of the dots.
  measure(now) {
    this.frames.push(now);
    if (this.frames.length < 30) return;
    const each = (now - this.frames[0]) / (this.frames.length - 1);
    this.frames = [now];
    this.slow = each > slowFrame && this.drawn > 60;
    this.setLevel(0);
  }

  largest() {
    return this.moves.reduce((n, m) => Math.max(n, m.count), 1);
  }

  draw(now) {
    const { context: c, scene } = this;
    c.clearRect(0, 0, scene.width, scene.height);
    this.drawPulses(now);
    const lanes = new Map();
    const alive = this.moves.filter((m) => now >= m.start && now < m.end && m.type !== "work");
    for (const m of this.moves) {
      if (m.type === "work") this.lane(lanes, m.actor).push(now, m);
      else if (m.type === "event" && now >= m.end) this.lane(lanes, m.actor).keys += m.count;
    }
    for (const [actor, lane] of lanes) this.drawLane(actor, lane);
    for (const m of alive) this.drawMove(m, (now - m.start) / (m.end - m.start), alive.length <= labelled);
    this.drawn = alive.length;
  }

  lane(lanes, actor) {
    if (!lanes.has(actor)) lanes.set(actor, new Lane());
    return lanes.get(actor);
  }

  drawMove(m, progress, withLabel) {
    const { scene } = this;
    const curve = scene.curves.get((m.type === "event" ? "watch" : "write") + "|" + m.actor + "|" + m.kind) || this.direct(m);
    if (!curve) return;
    const eased = progress < 0.5 ? 2 * progress * progress : 1 - (-2 * progress + 2) ** 2 / 2;
    const t = m.type === "failed" ? Math.min(eased, 0.86) : eased;
    const size = (m.count > 1 ? 10 : 7) * scene.scale;
    const color = scene.colors[m.type];
    for (let i = 5; i > 0; i--) {
      const [x, y] = pointOn(curve, Math.max(0, t - i * 0.022));
      this.circle(x, y, size * (1 - i * 0.13), color, 0.3 - i * 0.05);
    }
    const [x, y] = pointOn(curve, t);
    if (m.type === "event") this.ring(x, y, size, color, scene.colors.ground);
    else if (m.type === "failed") this.cross(x, y, size * 1.1, color);
    else this.circle(x, y, size, color, 1);
    if (m.count > 1) this.text("×" + m.count, x, y - size - 7 * scene.scale, scene.colors.text);
    else if (withLabel) this.text(shorten(m.record.object?.name || ""), x, y - size - 7 * scene.scale, scene.colors.text);
  }

  // direct is the way of a dot whose edge is not drawn, or not yet.
  direct(m) {
    const kind = this.scene.nodes.get("kind:" + m.kind), actor = this.scene.nodes.get("actor:" + m.actor);
    if (!kind || !actor) return null;
    const [a, b] = m.type === "event" ? [kind, actor] : [actor, kind];
    const side = a.x < b.x ? 0.5 : -0.5;
    const [ax, bx] = [a.x + side * a.width, b.x - side * b.width];
    return [ax, a.y, (ax + bx) / 2, a.y, (ax + bx) / 2, b.y, bx, b.y];
  }

  drawLane(actor, lane) {
    const node = this.scene.nodes.get("actor:" + actor);
    if (!node || node.type !== "controller") return;
    const { scale, colors } = this.scene;
    const y = node.y + node.height * 0.24;
    const size = 10 * scale;
    const left = node.x - node.width / 2 + 14 * scale;
    for (let i = 0; i < Math.min(lane.keys, laneKeys); i++) this.square(left + i * size * 1.22, y, size, colors.key);
    const right = node.x + node.width / 2 - 14 * scale;
    for (let i = 0; i < Math.min(lane.working, this.scene.slots(actor)); i++) this.circle(right - i * 15 * scale, y, 5.6 * scale, colors.work, 1);
  }

  drawPulses(now) {
    const { context: c, scene } = this;
    this.pulses = this.pulses.filter((p) => now - p.at < 700);
    for (const p of this.pulses) {
      const node = scene.nodes.get(p.node);
      if (!node) continue;
      const t = (now - p.at) / 700;
      const grow = 9 * t * scene.scale;
      c.globalAlpha = (1 - t) * 0.9;
      c.strokeStyle = scene.colors[p.type];
      c.lineWidth = 3.5 * scene.scale * (1 - t * 0.5);
      c.beginPath();
      c.roundRect(node.x - node.width / 2 - grow, node.y - node.height / 2 - grow, node.width + 2 * grow, node.height + 2 * grow, 14 * scene.scale + grow);
      c.stroke();
    }
    c.globalAlpha = 1;
  }

  circle(x, y, r, color, alpha) {
    const c = this.context;
    c.globalAlpha = alpha;
    c.fillStyle = color;
    c.beginPath();
    c.arc(x, y, Math.max(r, 0.5), 0, 7);
    c.fill();
    c.globalAlpha = 1;
  }

  ring(x, y, r, color, ground) {
    this.circle(x, y, r, color, 1);
    this.circle(x, y, r * 0.5, ground, 1);
  }

  square(x, y, size, color) {
    const c = this.context;
    c.fillStyle = color;
    c.beginPath();
    c.roundRect(x, y - size / 2, size, size, size * 0.25);
    c.fill();
  }

  cross(x, y, r, color) {
    const c = this.context;
    c.strokeStyle = color;
    c.lineWidth = r * 0.5;
    c.beginPath();
    c.moveTo(x - r, y - r);
    c.lineTo(x + r, y + r);
    c.moveTo(x + r, y - r);
    c.lineTo(x - r, y + r);
    c.stroke();
  }

  text(text, x, y, color) {
    const { context: c, scene } = this;
    c.font = `600 ${14 * Math.max(scene.scale, 0.9)}px system-ui, sans-serif`;
    c.textAlign = "center";
    c.lineWidth = 4;
    c.strokeStyle = scene.colors.ground;
    c.strokeText(text, x, y);
    c.fillStyle = color;
    c.fillText(text, x, y);
  }
}

// Lane is what the queue and the workers of a controller have at the moment.
class Lane {
  keys = 0;
  working = 0;
  push(now, m) {
    if (now >= m.start) this.working++;
    else if (m.queued !== undefined && now >= m.queued && !m.record.cause) this.keys++;
  }
}

const shorten = (name) => (name.length > 18 ? name.slice(0, 8) + "…" + name.slice(-6) : name);
