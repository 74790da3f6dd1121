// The nodes and edges of the diagram.

import { clock } from "./clock.js";
import { choose } from "./graph.js";
import { pathText, paths, place, roomFor } from "./layout.js";
import { byId, el, show, svg, unit } from "./dom.js";
import { waitNote } from "./headline.js";
import { atMost, count, kindName, shortName } from "./names.js";

const mostSlots = 5; // workers that are drawn
const rest = 350; // ms between two layouts

export class Diagram {
  constructor(model, dots, filter, select) {
    Object.assign(this, { model, dots, filter, select });
    this.nodes = new Map(); // elements by id
    this.pinned = new Set();
    this.showInternals = false;
    this.focus = []; // controllers
    this.chosen = { clients: [], kinds: [], controllers: [], edges: [], hidden: 0, crowded: 0 };
    this.stage = { width: 0, height: 0 };
    new ResizeObserver(([{ contentRect }]) => {
      this.stage = { width: contentRect.width, height: contentRect.height };
      this.unit = unit();
      this.update(true);
    }).observe(byId("stage"));
  }

  // update lays the diagram out again if its nodes or edges have changed.
  update(force) {
    const { stage, unit: u } = this;
    if (stage.width < 50 || this.model.controllers.size === 0 || clock.held && !force) return;
    const chosen = choose(this.model, { now: this.model.time(), factor: this.model.playback?.factor || 1, showInternals: this.showInternals, pinned: this.pinned, focus: this.focus, filter: this.filter, room: roomFor(stage.height, u) });
    const signature = JSON.stringify([chosen.clients, chosen.kinds.toSorted(), chosen.controllers.toSorted(), chosen.edges.map((e) => [e.type, e.actor, e.kind]).sort()]);
    this.chosen.hidden = chosen.hidden;
    this.chosen.crowded = chosen.crowded;
    this.wanted = { actors: new Set([...chosen.clients, ...chosen.controllers]), kinds: new Set(chosen.kinds) };
    if (!force && (signature === this.signature || performance.now() - this.laidOut < rest)) return;
    this.signature = signature;
    this.laidOut = performance.now();
    this.chosen = chosen;
    const { nodes, scale } = place(chosen, stage.width, stage.height, u);
    this.placed = nodes;
    byId("nodes").classList.toggle("still", !!force); // in a new size nodes are at their places at once
    this.drawNodes(nodes, scale);
    this.drawEdges(chosen, nodes, stage, scale);
    this.refresh();
  }

  // shows reports whether an actor and a kind are in the diagram, now or after the next layout.
  shows(actor, kind) {
    return !!this.wanted?.actors.has(actor) && (!kind || this.wanted.kinds.has(kind));
  }

  drawNodes(nodes, scale) {
    const parent = byId("nodes");
    parent.style.setProperty("--scale", scale);
    for (const [id, node] of this.nodes) {
      if (!nodes.has(id)) {
        node.remove();
        this.nodes.delete(id);
      }
    }
    for (const [id, at] of nodes) {
      let node = this.nodes.get(id);
      if (!node) {
        node = this.newNode(id, at.type);
        this.nodes.set(id, node);
        parent.append(node);
      }
      node.style.width = at.width + "px";
      node.style.height = at.height + "px";
      node.style.transform = `translate(${at.x - at.width / 2}px, ${at.y - at.height / 2}px)`;
    }
  }

  newNode(id, type) {
    const name = id.slice(id.indexOf(":") + 1);
    const node = el("button", { type: "button", class: "node " + type, "data-id": id, on: {
      click: () => this.select(type, name),
      mouseenter: () => this.highlight(id), mouseleave: () => this.highlight(null), keyup: (e) => e.key === "Tab" && this.highlight(id), blur: () => this.highlight(null),
    } }, el("b", {}, type === "kind" ? kindName(name) : shortName(name)));
    if (type === "kind") {
      node.classList.toggle("long", kindName(name).length > 10);
      node.classList.toggle("longer", kindName(name).length > 13);
      node.append(el("small", {}));
    }
    if (type === "client") node.append(el("small", {}));
    if (type === "controller") {
      node.replaceChildren(el("span", { class: "top" }, node.firstChild, el("span", { class: "mark" })), el("span", { class: "lane" }, el("span", { class: "fill" }), el("span", { class: "depth" })),
        el("span", { class: "workers" }, ...Array.from({ length: mostSlots }, () => el("i"))));
    }
    return node;
  }

  drawEdges(chosen, nodes, stage, scale) {
    const parent = byId("edges");
    parent.setAttribute("viewBox", `0 0 ${stage.width} ${stage.height}`);
    const curves = new Map();
    parent.replaceChildren(...paths(chosen, nodes).map(({ edge, curve }) => {
      curves.set(edge.type + "|" + edge.actor + "|" + edge.kind, curve);
      return svg("path", { d: pathText(curve), class: edge.type + (edge.type === "watch" && !edge.primary ? " secondary" : ""), "data-actor": "actor:" + edge.actor, "data-kind": "kind:" + edge.kind });
    }));
    this.scene = { slots: (name) => this.slotsOf(name), curves, nodes, scale, width: stage.width, height: stage.height, colors: colors() };
    this.dots.setScene(this.scene);
  }

  // slotsOf is how many keys in work of a controller are drawn at most.
  slotsOf(name) {
    return Math.min(mostSlots, this.model.workers(name) || mostSlots);
  }

  recolor() {
    if (this.scene) this.dots.setScene({ ...this.scene, colors: colors() });
  }

  highlight(id) {
    byId("picture").classList.toggle("focused", !!id);
    const near = new Set([id]);
    for (const path of byId("edges").children) {
      const on = path.dataset.actor === id || path.dataset.kind === id;
      path.classList.toggle("near", on);
      if (on) near.add(path.dataset.actor).add(path.dataset.kind);
    }
    for (const [key, node] of this.nodes) node.classList.toggle("near", near.has(key));
  }

  // refresh shows the last status in the nodes, which controller is busiest, and which clients
  // fail.
  refresh(busiest = this.busiest, failing = this.failing || []) {
    Object.assign(this, { busiest, failing });
    const deepest = Math.max(10, ...this.chosen.controllers.map((name) => this.model.depth(name)));
    for (const name of this.chosen.controllers) this.refreshController(name, deepest);
    for (const name of this.chosen.clients) this.refreshClient(name);
  }

  refreshController(name, deepest) {
    const node = this.nodes.get("actor:" + name);
    const c = this.model.controllers.get(name);
    if (!node || !c) return;
    const depth = this.model.depth(name), inFlight = this.model.inFlight(name), delayed = this.model.delayed(name);
    node.dataset.state = c.state;
    node.classList.toggle("changed", this.model.changed.has(name) && c.state === "running");
    const isLooping = this.model.loops(name), workers = this.model.workers(name), mark = markOf(c, isLooping);
    node.classList.toggle("failing", failures(c).length > 0 || isLooping);
    node.classList.toggle("busiest", name === this.busiest);
    node.querySelector(".mark").classList.toggle("note", !mark);
    show(node.querySelector(".mark"), mark || (workers > mostSlots ? workers + " workers" : ""));
    node.querySelector(".fill").style.transform = `scaleX(${Math.min(1, depth / deepest)})`;
    node.querySelector(".depth").classList.toggle("later", depth <= 0);
    const drawn = this.dots.keysOf(name); // while the picture is behind, these are not the keys of now
    show(node.querySelector(".depth"), depth > drawn ? String(depth) : depth <= 0 && delayed > 0 && !drawn ? atMost(delayed) + " later" : "");
    const slots = workers ? this.slotsOf(name) : Math.min(mostSlots, inFlight);
    node.querySelectorAll(".workers i").forEach((slot, i, all) => {
      slot.hidden = all.length - i > slots;
      slot.classList.toggle("busy", all.length - i <= inFlight);
    });
    const say = `${shortName(name)}: ${c.state || "running"}, ${count(depth, "key")} waiting, ${inFlight} in work` + (workers ? ` of ${count(workers, "worker")}` : "") + [c.reason, waitNote(c)].filter(Boolean).map((note) => ", " + note).join("");
    if (node.title !== say) node.title = say;
  }

  refreshClient(name) {
    const node = this.nodes.get("actor:" + name);
    const c = this.model.clients.get(name);
    if (!node || !c) return;
    node.dataset.state = c.state;
    node.classList.toggle("failing", this.failing.includes(name));
    show(node.querySelector("small"), c.state === "paused" ? count(c.held || 0, "held write") : this.model.loops(name) ? "hot loop" : c.reason || c.user || "");
    node.title = name;
  }

  // touch shows in a kind which object was written last.
  touch(kind, object) {
    const label = this.nodes.get("kind:" + kind)?.querySelector("small");
    if (label && object) show(label, object.name || object.namespace || "");
  }
}

// failures are the keys of a controller that fail, without those whose retry is normal.
const failures = (c) => (c.failing || []).filter((f) => !f.retry);

function markOf(c, loops) {
  if (c.state === "paused") return "paused";
  if (c.state && c.state !== "running") return c.state;
  const failing = failures(c).length;
  return c.reason || (loops ? "hot loop" : "") || (failing ? failing + (failing === 1 ? " fails" : " fail") : c.unlisted ? "waits" : c.failing?.length ? (c.failing.find((f) => f.retry === "conflict") || c.failing[0]).retry : "");
}

function colors() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue("--" + name).trim();
  return { event: of("event"), key: of("key"), work: of("work"), write: of("write"), failed: of("failed"), text: of("text"), ground: of("ground") };
}
