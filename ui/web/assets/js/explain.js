// The page of a controller, as "ctrlplane explain -o json" has it.

import { el } from "./dom.js";

function list(title, items) {
  return items?.length ? [el("h3", {}, title), el("ul", {}, items.map((i) => el("li", {}, i)))] : [];
}

export function explainView(e) {
  return el("div", { class: "explain" },
    el("p", { class: "purpose" }, e.purpose),
    e.drawing ? el("pre", { class: "drawing" }, e.drawing) : null,
    ...list("Its keys", (e.queues || []).map((q) => `${q.name || "unnamed"}: ${q.key || ""}`)),
    ...list("How it decides", e.decides),
    ...list("How it fails", (e.fails || []).map((f) => el("span", {}, el("b", {}, f.sign), ": " + f.means))));
}
