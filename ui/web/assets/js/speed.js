// How fast controllers, scheduler and kubelets work: the same setting as in the terminal.

import * as api from "./api.js";
import { button, byId } from "./dom.js";

const names = { 1: "1×", "1/2": "½×", "1/5": "⅕×", "1/10": "1/10×", step: "step" };

// Speed is the group of buttons in the header.
export class Speed {
  constructor(model, report) {
    Object.assign(this, { model, report, box: byId("speed") });
  }

  // offer shows the speeds that the server can set.
  offer(speeds) {
    this.speeds = speeds || [];
    this.box.hidden = this.speeds.length === 0;
    this.next = button("next key", () => this.act(api.stepKey), { class: "next", title: "Release the key that has waited longest (N)" });
    this.buttons = this.speeds.map((s) => button(names[s] || s, () => this.set(s), { title: `Speed ${names[s] || s} of controllers, scheduler and kubelets ([ and ])` }));
    this.box.replaceChildren(...this.buttons, this.next);
    this.refresh();
  }

  refresh() {
    this.buttons?.forEach((b, i) => b.setAttribute("aria-pressed", this.speeds[i] === this.model.speed));
    if (this.next) this.next.hidden = this.model.speed !== "step";
  }

  // move sets the next slower (1) or faster (-1) speed.
  move(by) {
    const speed = this.speeds?.[this.speeds.indexOf(this.model.speed) + by];
    if (speed) this.set(speed);
  }

  set(speed) {
    this.act(() => api.setSpeed(speed));
  }

  step() {
    if (this.model.speed === "step" && !this.box.hidden) this.act(api.stepKey);
  }

  async act(change) {
    try {
      await change();
    } catch (err) {
      this.report(err);
    }
  }
}
