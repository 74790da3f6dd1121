// The controls of a recording: those of the terminal. The server plays it, and says when a
// user has changed something; in between the time moves on here.

import * as api from "./api.js";
import { button, byId, el, show } from "./dom.js";

const minutes = (ms) => {
  const s = Math.max(0, Math.floor(ms / 1000));
  const two = (n) => String(n).padStart(2, "0");
  return s >= 3600 ? `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}` : `${Math.floor(s / 60)}:${two(s % 60)}`;
};

const timeOfDay = (ms) => {
  const d = new Date(ms);
  return d.toTimeString().slice(0, 8) + "." + Math.floor(d.getMilliseconds() / 100);
};

// keys are those of the terminal.
const keys = {
  " ": (p) => p.toggle(), s: (p) => p.change({ step: 1 }), S: (p) => p.change({ step: -1 }),
  ",": (p) => p.change({ move: -1000 }), ".": (p) => p.change({ move: 1000 }),
  ArrowLeft: (p) => p.change({ move: -10000 }), ArrowRight: (p) => p.change({ move: 10000 }),
  Home: (p) => p.change({ at: "begin" }), End: (p) => p.change({ at: "end" }),
  "[": (p) => p.faster(-1), "]": (p) => p.faster(1), "@": (p) => p.input.focus(),
};

export class Playback {
  constructor(report) {
    Object.assign(this, { report, state: null, box: byId("playback") });
  }

  // offer shows the controls, of which a viewer has only the time.
  offer(plays) {
    this.plays = plays;
    const act = (text, title, f) => button(text, f, { title, "aria-label": title });
    this.play = button("Play", () => this.toggle(), { class: "primary play", title: "Play or pause (Space)" });
    this.bar = el("input", { type: "range", min: 0, step: 1, "aria-label": "Time in the recording", disabled: !plays, on: {
      input: () => { this.dragging = true; this.draw(); },
      change: () => { this.dragging = false; this.change({ at: this.bar.value + "ms" }); },
    } });
    this.input = el("input", { type: "text", placeholder: "go to…", size: 8, title: "Go to a time such as 12:30:05, or 1m30s since the beginning (@)", on: {
      keydown: (e) => { if (e.key === "Enter") this.find(); if (e.key === "Enter" || e.key === "Escape") this.input.blur(); e.stopPropagation(); },
    } });
    this.clock = el("b", { class: "clock" });
    this.span = el("span", { class: "faint" });
    this.speed = el("b", { class: "speed" });
    const start = [act("|◁", "Beginning (Home)", keys.Home.bind(null, this)), act("◁ step", "The line before (Shift+S)", keys.S.bind(null, this)), this.play,
      act("step ▷", "The next line (S)", keys.s.bind(null, this)), act("▷|", "End (End)", keys.End.bind(null, this))];
    const end = [act("−", "Slower ([)", () => this.faster(-1)), this.speed, act("+", "Faster (])", () => this.faster(1)), this.input];
    this.box.replaceChildren(this.bar, ...(plays ? start : []), this.clock, this.span, ...(plays ? end : [this.speed]));
    this.box.hidden = false;
    setInterval(() => this.draw(), 200);
  }

  // receive notes what the server says.
  receive(state) {
    this.state = { ...state, begin: Date.parse(state.begin), end: Date.parse(state.end), at: Date.parse(state.at), since: performance.now() };
    this.bar.max = Math.floor(this.state.end - this.state.begin);
    this.draw();
  }

  // now is the time in the recording, in ms.
  now() {
    const s = this.state;
    return s ? Math.min(s.end, s.at + (s.playing ? (performance.now() - s.since) * s.factor : 0)) : 0;
  }

  get playing() {
    return !!this.state?.playing && this.now() < this.state.end;
  }

  get factor() {
    return this.state?.factor || 1;
  }

  draw() {
    if (!this.state) return;
    const { begin, end } = this.state;
    if (!this.dragging && document.activeElement !== this.bar || !this.dragging && this.playing) this.bar.value = this.now() - begin;
    const at = this.dragging ? begin + Number(this.bar.value) : this.now();
    show(this.clock, timeOfDay(at));
    show(this.span, `${minutes(at - begin)} of ${minutes(end - begin)}`);
    show(this.speed, this.state.speed + "×");
    show(this.play, this.playing ? "Pause" : "Play");
  }

  toggle() {
    this.change({ playing: !this.playing });
  }

  // faster sets the next faster (1) or slower (-1) speed.
  faster(by) {
    const speeds = this.state?.speeds || [];
    const speed = speeds[speeds.indexOf(this.state.speed) + by];
    if (speed) this.change({ speed });
  }

  find() {
    const at = this.input.value.trim().replace(/^@/, ""); // the key that leads here
    if (at) this.change({ at, zone: -60 * new Date(this.state.begin).getTimezoneOffset() });
    this.input.value = "";
  }

  // key acts on a key, and reports whether it means something.
  key(e) {
    const act = this.plays && this.state && keys[e.key];
    if (act) act(this);
    return !!act;
  }

  // change sends a change once those before it were answered: requests may overtake each other.
  change(what) {
    this.sent = (this.sent || Promise.resolve()).then(() => api.changePlayback(what)).catch((err) => this.report(err));
  }
}
