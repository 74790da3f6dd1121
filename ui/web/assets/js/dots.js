// The dots: everything that moves, on one canvas over the diagram. A frame clears it and
// draws it; nothing else of the page changes for a frame.

import { clock } from "./clock.js";
import { pointOn } from "./layout.js";

const labelled = 5; // dots at most have a label
const laneKeys = 7; // keys in the queue that are drawn
const unmatchedKey = 1300; // ms for which a key without a known sync is shown: it was merged, or waits
const border = 1.5; // of an element
const trail = 5; // circles behind a dot

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
    this.pulses = [];
    this.arrivals = [];
    this.lastOn = new Map(); // edges: the last dot
    this.waiting = new Map(); // keys whose sync is not known yet, by seq of the event
    this.level = 0;
    this.frames = [];
    this.running = false;
    this.listeners = [];
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
    this.lastOn.clear();
    this.start();
  }

  // add adds moves, which are in the order of their start.
  add(moves) {
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
    for (const [seq, m] of this.waiting) if (m.end + 60e3 < clock.now()) this.waiting.delete(seq);
    this.start();
  }

  // merge counts a move on one that is drawn at the same place a moment before.
  merge(m) {
    m.count = 1;
    m.records = [m.record];
    const { near } = merging[this.level];
    if (!near || m.type === "work") return false;
    const key = m.type + "|" + m.actor + "|" + m.kind;
    const last = this.lastOn.get(key);
    if (!last || m.start < last.start || m.start - last.start >= near) {
      this.lastOn.set(key, m);
      return false;
    }
    last.count++;
    last.records.push(m.record);
    if (m.workStart) last.workStart = Math.min(last.workStart || Infinity, m.workStart);
    if (last.begun) this.tell("begin", m, [m.record]);
    return true;
  }

  // each calls f(when, move, records) as moves begin and end, and once for each frame: for the
  // list and the kinds.
  each(f) {
    this.listeners.push(f);
  }

  tell(when, m, records) {
    for (const f of this.listeners) f(when, m, records);
  }

  start() {
    if (this.running || !this.scene) return;
    this.running = true;
    this.frames = [];
    requestAnimationFrame(() => this.frame());
  }

  frame() {
    this.running = false;
    const now = clock.now();
    this.measure(performance.now());
    this.moves = this.moves.filter((m) => this.arrive(m, now));
    this.tell("drawn");
    this.draw(now);
    if (this.moves.length > 0 || this.pulses.length > 0) {
      if (clock.held) return;
      this.running = true;
      requestAnimationFrame(() => this.frame());
    } else {
      this.slow = false;
      this.setLevel(0);
    }
  }

  // arrive reports whether a move is still needed, and tells the listeners once it is over.
  arrive(m, now) {
    if (now >= m.start && !m.begun) {
      m.begun = true;
      this.tell("begin", m, m.records);
    }
    if (now >= m.end && !m.over) {
      m.over = true;
      this.tell("end", m, m.records);
      if (m.kind && m.type !== "event") this.pulse("kind:" + m.kind, m.type, now);
    }
    if (m.type === "event") return now < Math.min(m.workStart ?? m.end + unmatchedKey, m.end + 30e3) || !m.over;
    return now < m.end;
  }

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
    this.drawLanes(now);
    const alive = this.moves.filter((m) => now >= m.start && now < m.end && m.type !== "work");
    const byType = Map.groupBy(alive, (m) => m.type);
    for (const [type, moves] of byType) this.drawMoves(type, moves, now);
    this.drawLabels(alive);
    this.drawn = alive.length;
  }

  // drawMoves draws all dots of a type: a path for each circle of their trails, since it is
  // the number of paths that costs time.
  drawMoves(type, moves, now) {
    const { context: c, scene } = this;
    const color = scene.colors[type];
    for (const m of moves) this.locate(m, now);
    const seen = moves.filter((m) => m.curve);
    c.fillStyle = color;
    for (let i = trail; i > 0; i--) {
      c.globalAlpha = 0.3 - i * 0.05;
      this.fillCircles(seen, (m) => [...pointOn(m.curve, Math.max(0, m.t - i * 0.022)), m.size * (1 - i * 0.13)]);
    }
    c.globalAlpha = 1;
    if (type === "failed") return this.drawCrosses(seen, color);
    this.fillCircles(seen, (m) => [m.x, m.y, m.size]);
    if (type !== "event") return;
    c.fillStyle = scene.colors.ground;
    this.fillCircles(seen, (m) => [m.x, m.y, m.size * 0.5]);
  }

  // locate computes where a dot is.
  locate(m, now) {
    const { scene } = this;
    m.curve = scene.curves.get((m.type === "event" ? "watch" : "write") + "|" + m.actor + "|" + m.kind) || this.direct(m);
    if (!m.curve) return;
    const progress = (now - m.start) / (m.end - m.start);
    const eased = progress < 0.5 ? 2 * progress * progress : 1 - (-2 * progress + 2) ** 2 / 2;
    m.t = m.type === "failed" ? Math.min(eased, 0.86) : eased;
    m.size = (m.count > 1 ? 10 : 7) * scene.scale;
    [m.x, m.y] = pointOn(m.curve, m.t);
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

  // drawLabels writes the numbers of merged dots and, if there are few dots, names. A label
  // that would cover another one or an element is left out.
  drawLabels(alive) {
    const { context: c, scene } = this;
    const size = 14 * Math.max(scene.scale, 0.9);
    const names = alive.length <= labelled;
    const boxes = [...scene.nodes.values()].map(({ x, y, width, height }) => ({ x, y, half: width / 2, tall: height / 2 }));
    c.font = `600 ${size}px system-ui, sans-serif`;
    c.textAlign = "center";
    c.lineWidth = 4;
    c.strokeStyle = scene.colors.ground;
    c.fillStyle = scene.colors.text;
    for (const m of alive) {
      if (!m.curve || m.count === 1 && !names) continue;
      const text = m.count > 1 ? "×" + m.count : shorten(m.record.object?.name || "");
      const half = (m.count > 1 ? size * 1.2 : m.labelWidth ??= c.measureText(text).width) / 2;
      const x = Math.min(Math.max(m.x, half), scene.width - half), y = Math.max(m.y - m.size - 7 * scene.scale, size);
      const middle = y - size * 0.35;
      if (boxes.some((b) => Math.abs(b.x - x) < b.half + half + 4 && Math.abs(b.y - middle) < b.tall + size * 0.6)) continue;
      boxes.push({ x, y: middle, half, tall: size * 0.6 });
      c.strokeText(text, x, y);
      c.fillText(text, x, y);
    }
  }

  // keysOf is how many keys of a controller are drawn in its queue.
  keysOf(name) {
    return Math.min(this.lanes?.get(name)?.keys || 0, laneKeys);
  }

  // drawLanes draws the keys in the queues and those in work.
  drawLanes(now) {
    const { context: c, scene } = this;
    const lanes = this.lanes = new Map();
    for (const m of this.moves) {
      if (m.type !== "work" && (m.type !== "event" || now < m.end)) continue;
      if (!lanes.has(m.actor)) lanes.set(m.actor, { keys: 0, working: 0 });
      const lane = lanes.get(m.actor);
      if (m.type === "event") lane.keys += m.count;
      else if (now >= m.start) lane.working++;
      else if (now >= m.queued && !m.record.cause) lane.keys++;
    }
    const keys = new Path2D(), workers = new Path2D();
    const size = 10 * scene.scale;
    for (const [actor, lane] of lanes) {
      const node = scene.nodes.get("actor:" + actor);
      if (node?.type !== "controller") continue;
      const y = node.y - node.height / 2 + border + 0.74 * (node.height - 2 * border); // as in page.css
      const left = node.x - node.width / 2 + 14 * scene.scale, right = node.x + node.width / 2 - 14 * scene.scale - border;
      for (let i = 0; i < Math.min(lane.keys, laneKeys); i++) keys.roundRect(left + i * size * 1.22, y - size / 2, size, size, size * 0.25);
      for (let i = 0; i < Math.min(lane.working, scene.slots(actor)); i++) addCircle(workers, right - i * 15 * scene.scale, y, 5.6 * scene.scale);
    }
    c.fillStyle = scene.colors.key;
    c.fill(keys);
    c.fillStyle = scene.colors.work;
    c.fill(workers);
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

  fillCircles(moves, place) {
    const path = new Path2D();
    for (const m of moves) addCircle(path, ...place(m));
    this.context.fill(path);
  }

  drawCrosses(moves, color) {
    const { context: c } = this;
    c.strokeStyle = color;
    for (const { x, y, size } of moves) {
      const r = size * 1.1;
      c.lineWidth = r * 0.5;
      c.beginPath();
      c.moveTo(x - r, y - r);
      c.lineTo(x + r, y + r);
      c.moveTo(x + r, y - r);
      c.lineTo(x - r, y + r);
      c.stroke();
    }
  }
}

function addCircle(path, x, y, r) {
  path.moveTo(x + r, y);
  path.arc(x, y, Math.max(r, 0.5), 0, 7);
}

const shorten = (name) => (name.length > 18 ? name.slice(0, 8) + "…" + name.slice(-6) : name);
