// Short names for the picture; panels have the full ones.

import { builtinKinds, shortNames } from "./tables.js";

export const shortName = (name) => shortNames[name] || (isReported(name) ? name : name.replace(/-controller$/, "")).replace(/ \(.*\)$/, "");

// isReported reports whether a name is that of a controller of a client: PROGRAM/CONTROLLER, or CLIENT/CONTROLLER.
const isReported = (name) => /^[^(]*\/|\)\//.test(name);

// kindKey is the resource with its group, as snapshots name it.
export const kindKey = (object) => (object.group ? object.resource + "." + object.group : object.resource || "");

export const resourceOf = (key) => key.split(".")[0];

// Kinds whose names are long, and some of the API server's extensions.
const knownKinds = { persistentvolumeclaims: "PVC", persistentvolumes: "PV", "poddisruptionbudgets.policy": "PDB", "horizontalpodautoscalers.autoscaling": "HPA",
  "customresourcedefinitions.apiextensions.k8s.io": "CRD", "controllerrevisions.apps": "ControllerRev.", "apiservices.apiregistration.k8s.io": "APIService" };

const seenKinds = new Map();

export function learnKind(object) {
  if (object?.kind && object.resource) seenKinds.set(kindKey(object), object.kind);
}

export const kindName = (key) => knownKinds[key] || seenKinds.get(key) || builtinKinds[key] || resourceOf(key);

export const objectKey = (o) => [o.namespace, o.name].filter(Boolean).join("/");

const units = [["h", 3600e9], ["min", 60e9], ["s", 1e9], ["ms", 1e6], ["µs", 1e3]];

export function duration(nanos) {
  if (!nanos) return "0 ms";
  const nextSize = (i) => units[i + 1]?.[1] || 1;
  const [name, size] = units.find(([, size], i) => Math.abs(nanos) + nextSize(i) / 2 >= size) || ["ns", 1]; // 999.7 µs are 1 ms
  const n = nanos / size;
  return (n < 10 ? n.toFixed(1).replace(/\.0$/, "") : Math.round(n)) + " " + name;
}

// known shows a number that may be unknown, and atMost one that is an upper bound.
export const known = (n) => (n < 0 ? "?" : String(n));
export const atMost = (n) => (n > 0 ? "≤" : "") + known(n);

export const count = (n, noun) => n + " " + noun + (n === 1 ? "" : "s");

const verbs = { create: "creates", update: "updates", patch: "changes", delete: "deletes", deletecollection: "deletes all" };

// verbOf says what a call does; selected is set for a delete of a collection with a selector.
export const verbOf = (call) => (call.selected ? "deletes selected" : verbs[call.verb] || call.verb);
