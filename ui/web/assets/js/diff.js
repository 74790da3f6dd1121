// What a write has changed, field by field.

import { el } from "./dom.js";

const noise = /^(apiVersion|kind|metadata\.(resourceVersion|generation|uid|creationTimestamp|generateName|ownerReferences.*))$/;
const shown = 40;

// flatten maps the path of each value of an object to the value.
function flatten(value, path, into) {
  if (value !== null && typeof value === "object" && Object.keys(value).length) {
    for (const [k, v] of Object.entries(value)) flatten(v, path ? path + "." + k : k, into);
  } else if (path) into.set(path, JSON.stringify(value));
  return into;
}

export function diffView(before, after, unknown) {
  if (unknown) return el("p", { class: "faint" }, "What it changed is not known: " + unknown);
  const a = flatten(before ?? {}, "", new Map()), b = flatten(after ?? {}, "", new Map());
  const lines = [];
  const paths = [...new Set([...a.keys(), ...b.keys()])].sort((x, y) => x.startsWith("metadata.") - y.startsWith("metadata.")); // what was meant comes first
  for (const path of paths) {
    if (a.get(path) === b.get(path) || noise.test(path)) continue;
    if (a.has(path)) lines.push(el("li", { class: "minus" }, `− ${path}: ${a.get(path)}`));
    if (b.has(path)) lines.push(el("li", { class: "plus" }, `+ ${path}: ${b.get(path)}`));
  }
  if (!lines.length) return el("p", { class: "faint" }, "It changed nothing.");
  const more = lines.length - shown;
  return el("ul", { class: "diff" }, lines.slice(0, shown), more > 0 ? el("li", { class: "faint" }, `${more} more lines`) : null);
}
