// Where the nodes are. dagre does it in two passes: the first finds the order of cause and
// effect (a Deployment leads to a ReplicaSet, that to Pods), the second places clients,
// kinds and controllers in three columns that keep this order.

import { Graph, layout } from "../vendor/dagre.esm.js";
import { familiarControllers } from "./graph.js";

export const sizes = { client: { width: 138, height: 54 }, kind: { width: 150, height: 54 }, controller: { width: 216, height: 66 } };
const gaps = { narrowest: 14, widest: 52 };
const smallest = 0.86; // of the normal size: smaller text cannot be read from far
const largest = 1.25;

// roomFor is how many nodes fit one above the other.
export const roomFor = (height, unit) => Math.max(4, Math.floor(height / ((sizes.controller.height + gaps.narrowest) * unit * smallest)));

const kindId = (kind) => "kind:" + kind;
const actorId = (name) => "actor:" + name;

// causalOrder returns the nodes in the order of cause and effect.
function causalOrder({ clients, kinds, controllers, edges }) {
  const g = new Graph({ multigraph: false }).setGraph({ rankdir: "LR", acyclicer: "greedy" }).setDefaultEdgeLabel(() => ({}));
  for (const name of clients) g.setNode(actorId(name), { width: 10, height: 10 });
  for (const kind of kinds) g.setNode(kindId(kind), { width: 10, height: 10 });
  for (const name of controllers) g.setNode(actorId(name), { width: 10, height: 10 });
  for (const e of edges) {
    if (e.type === "watch") {
      if (!edges.some((o) => o.type === "write" && o.creates && o.actor === e.actor && o.kind === e.kind)) {
        g.setEdge(kindId(e.kind), actorId(e.actor), { weight: e.primary ? 4 : 1, minlen: 1 });
      }
    } else if (e.creates || clients.includes(e.actor)) {
      g.setEdge(actorId(e.actor), kindId(e.kind), { weight: 6, minlen: 1 });
    }
  }
  familiarControllers.filter((name) => controllers.includes(name)).forEach((name, i, all) => { // their order never changes
    if (i > 0) g.setEdge(actorId(all[i - 1]), actorId(name), { weight: 10, minlen: 1 });
  });
  layout(g);
  const at = (id) => g.node(id);
  return (a, b) => at(a).x - at(b).x || at(a).y - at(b).y;
}

// place returns the center and size of each node, by id, in an area.
export function place(chosen, width, height, unit) {
  const { clients, kinds, controllers, edges } = chosen;
  const compare = causalOrder(chosen);
  const columns = [["client", clients.map(actorId)], ["kind", kinds.map(kindId)], ["controller", controllers.map(actorId)]];
  const tallest = Math.max(...columns.map(([type, ids]) => ids.length * (sizes[type].height + gaps.narrowest) * unit));
  const widest = (sizes.client.width + sizes.kind.width + sizes.controller.width) * unit;
  const scale = unit * Math.max(smallest, Math.min(largest, (0.92 * height) / tallest, (0.62 * width) / widest));
  const most = Math.max(controllers.length, kinds.length);
  const nodesep = Math.min(gaps.widest, Math.max(gaps.narrowest, height / scale / most - sizes.controller.height)) * scale;
  const used = (sizes.kind.width + sizes.controller.width + sizes.client.width) * scale;
  const ranksep = Math.max(60, (width - used - 24 * unit) / 2);
  const g = new Graph().setGraph({ rankdir: "LR", nodesep, ranksep, edgesep: 0 }).setDefaultEdgeLabel(() => ({}));
  const ends = [];
  for (const [type, ids] of columns) {
    ids.sort(compare);
    for (const id of ids) g.setNode(id, { width: sizes[type].width * scale, height: sizes[type].height * scale, type });
    ends.push(ids);
  }
  for (const id of ends[1]) { // all kinds are in the second column, also those without an edge
    g.setNode("first", { width: sizes.client.width * scale, height: 0 }).setNode("last", { width: sizes.controller.width * scale, height: 0 });
    g.setEdge("first", id, { weight: 0 }).setEdge(id, "last", { weight: 0 });
  }
  for (const e of edges) {
    if (clients.includes(e.actor)) g.setEdge(actorId(e.actor), kindId(e.kind), { weight: 1 });
    else g.setEdge(kindId(e.kind), actorId(e.actor), { weight: e.primary || e.creates ? 3 : 1 });
  }
  for (const id of ends[0]) if (!g.outEdges(id).length) g.setEdge(id, ends[1][0], { weight: 0 });
  for (const id of ends[2]) if (!g.inEdges(id).length) g.setEdge(ends[1][0], id, { weight: 0 });
  layout(g);
  const nodes = new Map();
  for (const [type, ids] of columns) for (const id of ids) nodes.set(id, { ...g.node(id), type });
  fit(nodes, ends, width, height, nodesep, unit);
  return { nodes, scale };
}

// fit moves the columns to the borders of the area, and the rows into it.
function fit(nodes, columns, width, height, gap, unit) {
  const margin = 12 * unit;
  const x = [margin, width / 2, width - margin];
  columns.forEach((ids, i) => {
    const list = ids.map((id) => nodes.get(id));
    for (const n of list) n.x = i === 0 ? x[0] + n.width / 2 : i === 2 ? x[2] - n.width / 2 : middle(nodes, columns, x);
    if (list.length === 0) return;
    const space = (height - margin - list.reduce((sum, n) => sum + n.height, 0)) / list.length;
    const apart = Math.min(gap, Math.max(space, 0));
    const heights = list.map((n) => n.y).sort((a, b) => a - b);
    const order = list.map((n, i) => Object.assign(n, { y: heights[i] })); // the order of cause and effect
    const shift = height / 2 - (order[0].y - order[0].height / 2 + order.at(-1).y + order.at(-1).height / 2) / 2;
    for (const n of order) n.y += shift;
    let free = margin / 2; // upper border of what is free
    for (const n of order) {
      n.y = Math.max(n.y, free + n.height / 2);
      free = n.y + n.height / 2 + apart;
    }
    let below = height - margin / 2;
    for (const n of order.toReversed()) {
      n.y = Math.min(n.y, below - n.height / 2);
      below = n.y - n.height / 2 - apart;
    }
  });
}

function middle(nodes, columns, x) {
  const left = columns[0].length ? nodes.get(columns[0][0]).width + x[0] : 0;
  const right = columns[2].length ? x[2] - nodes.get(columns[2][0]).width : x[2];
  return columns[0].length ? (left + right) / 2 : right * 0.36;
}

// paths returns an SVG path for each edge. At a node, edges are ordered by where they lead.
export function paths(chosen, nodes) {
  const ends = new Map(); // by node and side
  const sideOf = (from, to) => (from.x < to.x ? "right" : "left");
  const lines = chosen.edges.map((e) => {
    const kind = { id: kindId(e.kind), ...nodes.get(kindId(e.kind)) };
    const actor = { id: actorId(e.actor), ...nodes.get(actorId(e.actor)) };
    const [from, to] = e.type === "watch" ? [kind, actor] : [actor, kind];
    return { edge: e, from, to };
  });
  for (const line of lines) {
    for (const [node, other, which] of [[line.from, line.to, "start"], [line.to, line.from, "end"]]) {
      const key = node.id + sideOf(node, other);
      if (!ends.has(key)) ends.set(key, []);
      ends.get(key).push({ line, which, node, other });
    }
  }
  for (const list of ends.values()) {
    list.sort((a, b) => a.other.y - b.other.y || (a.line.edge.type === "watch") - (b.line.edge.type === "watch"));
    list.forEach((end, i) => {
      const { node, other, line, which } = end;
      const spread = Math.min(node.height * 0.72, 16 * list.length);
      const y = node.y + (list.length === 1 ? 0 : (i / (list.length - 1) - 0.5) * spread);
      line[which] = { x: node.x + (sideOf(node, other) === "right" ? 0.5 : -0.5) * node.width, y };
    });
  }
  return lines.map(({ edge, start, end }) => ({ edge, curve: bend(start, end) }));
}

function bend(a, b) {
  const dx = (b.x - a.x) * 0.45;
  return [a.x, a.y, a.x + dx, a.y, b.x - dx, b.y, b.x, b.y];
}

export const pathText = ([ax, ay, bx, by, cx, cy, dx, dy]) => `M${ax},${ay}C${bx},${by} ${cx},${cy} ${dx},${dy}`;

// pointOn returns a point of a curve; t is from 0 to 1.
export function pointOn(c, t) {
  const s = 1 - t;
  const a = s * s * s, b = 3 * s * s * t, d = 3 * s * t * t, e = t * t * t;
  return [a * c[0] + b * c[2] + d * c[4] + e * c[6], a * c[1] + b * c[3] + d * c[5] + e * c[7]];
}
