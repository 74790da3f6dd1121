// What the picture and the list are limited to.

import { byId, el } from "./dom.js";
import { kindKey, kindName, shortName } from "./names.js";

const titles = { controller: "all controllers", kind: "all kinds", namespace: "all namespaces" };

export class Filter {
  constructor(model, changed) {
    Object.assign(this, { model, changed, controller: "", kind: "", namespace: "" });
    this.menus = Object.keys(titles).map((field) => {
      const menu = byId("filter-" + field);
      menu.addEventListener("change", () => this.set(field, menu.value));
      for (const opens of ["pointerdown", "keydown"]) menu.addEventListener(opens, () => this.refresh(undefined, menu));
      return [field, menu];
    });
  }

  get isOn() {
    return !!(this.controller || this.kind || this.namespace);
  }

  set(field, value) {
    this[field] = value;
    this.refresh();
    this.changed();
  }

  clear() {
    Object.assign(this, { controller: "", kind: "", namespace: "" });
    this.refresh();
    this.changed();
  }

  // refresh offers what there is to choose from. A menu that has the focus may be open, and is left as it is
  // unless it is opening.
  refresh(internals, opening) {
    this.internals = internals ?? this.internals;
    const { model } = this;
    const controllers = [...model.controllers.values()].filter((c) => this.internals || !c.internal && c.state !== "off").map((c) => c.name);
    const kinds = new Set(model.touched.keys());
    for (const c of [...model.controllers.values(), ...model.clients.values()]) for (const kind of c.written) kinds.add(kind);
    const choices = { controller: [controllers, shortName], kind: [[...kinds], kindName], namespace: [[...model.namespaces.keys()], (name) => name] };
    for (const [field, menu] of this.menus) {
      const mayBeOpen = document.activeElement === menu && menu.value === this[field] && menu !== opening;
      menu.classList.toggle("on", !!this[field]);
      if (!mayBeOpen) this.fill(menu, field, ...choices[field]);
    }
  }

  fill(menu, field, values, nameOf) {
    const chosen = this[field];
    const all = [...new Set(chosen ? [chosen, ...values] : values)];
    const isShared = (name) => all.filter((v) => nameOf(v) === name).length > 1;
    const groupOf = (v) => (field === "kind" && v.includes(".") && isShared(nameOf(v)) ? v.slice(v.indexOf(".")) : "");
    const list = all.map((v) => [v, nameOf(v) + groupOf(v)]).sort((a, b) => a[1].localeCompare(b[1]));
    const key = JSON.stringify(list);
    if (menu.dataset.key !== key) {
      menu.dataset.key = key;
      menu.replaceChildren(el("option", { value: "" }, titles[field]), ...list.map(([value, name]) => el("option", { value }, name)));
    }
    if (menu.value !== chosen) menu.value = chosen;
  }

  // isLinked reports whether a controller or client watches or writes the kind.
  isLinked(name) {
    const actor = this.model.actor(name);
    return !!actor?.watched.includes(this.kind) || !!actor?.written.includes(this.kind) || !!this.model.wrote.get(name)?.has(this.kind);
  }

  // matches reports whether a record is shown. What has no object and no key, such as a
  // controller that is paused, is in no namespace.
  matches(r) {
    if (!r) return true;
    if (this.controller && r.controller !== this.controller) return false;
    if (this.kind && (r.object?.resource ? kindKey(r.object) !== this.kind : !this.isLinked(r.controller))) return false;
    if (!this.namespace || r.kind === "controllerChanged") return true;
    return r.object ? r.object.namespace === this.namespace || r.object.resource === "namespaces" && r.object.name === this.namespace
      : r.kind === "logged" || (r.key || "").startsWith(this.namespace + "/");
  }

  describe() {
    return [this.controller && shortName(this.controller), this.kind && kindName(this.kind), this.namespace && "namespace " + this.namespace].filter(Boolean).join(", ");
  }
}
