// The panel beside the diagram: a controller, a client, a kind or an object.

import * as api from "./api.js";
import { button, byId, el, update } from "./dom.js";
import { causesView, chainView, changeOf } from "./causes.js";
import { explainView } from "./explain.js";
import { controlsView, interventionNote } from "./controls.js";
import { waitNote } from "./headline.js";
import { atMost, count, duration, kindKey, kindName, known, objectKey, resourceOf, shortName } from "./names.js";

export class Panel {
  constructor(model, page) {
    this.model = model;
    this.page = page; // {readOnly, objects, pin}
    this.box = byId("panel");
    this.live = null; // redraws what changes
    this.request = new AbortController(); // of the tab that is shown
  }

  close() {
    if (!this.isOpen) return;
    const focused = document.activeElement;
    const hadFocus = focused === document.body || this.box.contains(focused);
    this.request.abort();
    this.box.hidden = true;
    byId("feed").hidden = false;
    document.body.classList.remove("details");
    this.subject = this.live = null;
    this.page.pin(null);
    if (hadFocus) this.opener?.focus({ preventScroll: true });
  }

  get isOpen() {
    return !this.box.hidden;
  }

  // refresh shows the last status.
  refresh() {
    this.live?.();
  }

  // open shows tabs: [[title, make]]; make returns an element or a promise of one, which the next tab aborts.
  open(subject, title, subtitle, tabs) {
    if (!this.box.contains(document.activeElement)) this.opener = document.activeElement;
    this.subject = subject;
    this.page.pin(subject);
    const body = el("div", { class: "body" });
    const tabList = tabs.length > 1 ? this.tabList(tabs.map(([text]) => text), body, (i) => this.fill(body, tabs[i][1])) : null;
    this.box.replaceChildren(
      el("div", { class: "head" }, el("div", {}, el("h2", {}, title), el("p", { class: "faint" }, subtitle)),
        button("✕", () => this.close(), { class: "close", "aria-label": "Close the details", title: "Close (Esc)" })),
      ...(tabList ? [tabList] : []), body);
    this.box.hidden = false;
    byId("feed").hidden = true;
    document.body.classList.add("details");
    this.box.focus({ preventScroll: true });
    if (tabList) tabList.firstChild.click();
    else this.fill(body, tabs[0][1]);
  }

  // fill shows what make returns.
  async fill(body, make) {
    this.live = null;
    this.request.abort();
    const request = this.request = new AbortController();
    body.replaceChildren(el("p", { class: "faint" }, "…"));
    let content;
    try {
      content = await make(request.signal);
    } catch (err) {
      content = el("p", { class: "problem" }, err.message);
    }
    if (!request.signal.aborted) body.replaceChildren(content);
  }

  // tabList returns tabs for what is in body. As is usual, the tab key goes to the one that is chosen, and the arrow
  // keys to the others.
  tabList(titles, body, choose) {
    const keys = { ArrowLeft: (i) => i - 1, ArrowRight: (i) => i + 1, Home: () => 0, End: () => -1 };
    const select = (i) => {
      heads.forEach((h, j) => {
        h.setAttribute("aria-selected", i === j);
        h.tabIndex = i === j ? 0 : -1;
      });
      body.setAttribute("aria-labelledby", heads[i].id);
      choose(i);
    };
    const heads = titles.map((text, i) => button(text, () => select(i), { role: "tab", id: "tab-" + i, "aria-controls": "tab-panel" }));
    Object.assign(body, { id: "tab-panel", role: "tabpanel", tabIndex: 0 });
    return el("div", { class: "tabs", role: "tablist", on: { keydown: (e) => {
      if (!keys[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
      e.preventDefault();
      e.stopPropagation(); // some are keys of a recording
      const next = heads.at(keys[e.key](heads.indexOf(e.target)) % heads.length);
      next.focus();
      next.click();
    } } }, heads);
  }

  show(type, name) {
    if (type === "kind") return this.showKind(name);
    const isClient = !this.model.controllers.has(name);
    this.open(name, shortName(name), name, [
      ["Now", () => this.now(name, isClient)],
      ...(isClient ? [] : [["Explain", async (signal) => explainView(await api.explain(name, signal))]]),
    ]);
  }

  showRecord(record) {
    const o = record?.object;
    if (o?.name && o.resource) return this.showObject(o, changeOf(record));
    if (record?.controller) this.show("controller", record.controller);
  }

  // showObject shows an object; of its changes why it was created, or the one that what names.
  showObject(o, what) {
    const kind = kindName(kindKey(o));
    const open = (object) => this.showObject(object);
    this.open(kindKey(o) + "|" + objectKey(o), o.name, kind + (o.namespace ? " in " + o.namespace : ""), [
      ["Why", async (signal) => chainView(await api.why(o, what, signal), open, (next) => this.showObject(o, next))],
      ["Trace", async (signal) => causesView(await api.trace(o, signal), open)],
      ...(this.page.objects ? [["Object", async (signal) => objectView(await api.inspect(o, signal), open)]] : []),
    ]);
  }

  showKind(kind) {
    const who = (list) => list.map((name) => button(shortName(name), () => this.show("controller", name), { class: "link" }));
    this.open("kind:" + kind, kindName(kind), kind, [["", () => {
      const actors = [...this.model.controllers.values(), ...this.model.clients.values()];
      const watching = actors.filter((c) => c.watched.includes(kind)).map((c) => c.name);
      const writing = actors.filter((c) => c.written.includes(kind) || this.model.wrote.get(c.name)?.has(kind)).map((c) => c.name);
      const objects = this.model.recent.get(kind) || [];
      return el("div", {},
        el("h3", {}, "Written last"), objects.length ? el("ul", { class: "objects" }, objects.map((o) => el("li", {}, button(objectKey(o), () => this.showObject(o), { class: "link" })))) :
          el("p", { class: "faint" }, "No write was seen since this page was opened."),
        el("h3", {}, "Written by"), writing.length ? el("p", { class: "names" }, who(writing)) : el("p", { class: "faint" }, "none so far"),
        el("h3", {}, "Watched by"), watching.length ? el("p", { class: "names" }, who(watching)) : el("p", { class: "faint" }, "none"));
    }]]);
  }

  // now shows the state of a controller or a client, and the interventions.
  now(name, isClient) {
    const facts = el("div", {});
    const who = isClient ? "clients" : "controllers";
    const controls = controlsView({ name, who, readOnly: this.page.readOnly, why: this.page.replay && "This is a recording.", state: () => this.model.actor(name), time: () => this.model.time() });
    const draw = () => {
      const actor = this.model.actor(name);
      controls.refresh();
      update(facts, actor ? (isClient ? clientFacts(actor) : this.controllerFacts(actor)) : [el("p", { class: "faint" }, "It is not known any more.")]);
    };
    this.live = draw;
    draw();
    return el("div", {}, controls.element, facts);
  }

  controllerFacts(c) {
    const queues = (this.model.queues.get(c.name) || []);
    const running = c.running || [], failing = c.failing || [];
    return [
      el("p", {}, [interventionNote(c), waitNote(c)].filter(Boolean).join("; ")),
      el("h3", {}, "Queues"),
      queues.length ? el("table", {}, el("thead", {}, el("tr", {}, ["", "waiting", "in work", "delayed", "retries"].map((t) => el("th", {}, t)))),
        el("tbody", {}, queues.map((q) => el("tr", {}, el("th", {}, q.name), [known(q.depth), known(q.inFlight) + (q.workers ? "/" + q.workers : ""), atMost(q.delayedAtMost), known(q.errorRetries)].map((v) => el("td", {}, v)))))) : el("p", { class: "faint" }, "none"),
      ...section("Keys in the queue", queues.flatMap((q) => q.waiting || []).map((o) => button(objectKey(o), () => this.showObject(o), { class: "link", "data-uid": o.uid }))),
      ...section("In work", running.map((r) => el("span", {}, r.key || "?", el("span", { class: "faint" }, " for " + duration(Math.max(0, this.model.time() - Date.parse(r.since)) * 1e6))))),
      ...section("Failing", failing.map((f) => el("span", { class: "problem" }, `${f.key || "?"}: ${f.error || "requeued"} (×${f.times}${f.atLeast ? " or more" : ""})`))),
      el("h3", {}, "So far"),
      el("p", {}, [count(Math.max(c.syncs, 0), "sync"), count(Math.max(c.changes, 0), "write"), count(Math.max(c.errors, 0), "error"), count(Math.max(c.conflicts, 0), "conflict")].join(" · ")),
      ...section("Watches", (c.watches || []).slice(0, 12).map((w) => button(kindName(w), () => this.showKind(w), { class: "link" })), c.watches?.length > 12 ? ` and ${c.watches.length - 12} more kinds` : ""),
      ...section("Writes", (c.writes || []).map((w) => el("span", {}, `${w.verb} ${resourceOf(w.resource)}${w.resource.includes("/") ? "/" + w.resource.split("/")[1] : ""} ×${w.count}`))),
    ];
  }
}

function section(title, items, more) {
  if (!items.length) return [];
  const list = [el("h3", {}, title), el("ul", { "data-key": title }, items.map((i) => el("li", {}, i)))];
  return more ? [...list, el("p", { class: "faint" }, more)] : list;
}

function clientFacts(c) {
  return [
    el("p", {}, interventionNote(c)),
    c.refused ? el("p", { class: "problem" }, c.refused) : null,
    el("table", { class: "facts" }, el("tbody", {}, [["User", c.user], ["Groups", (c.groups || []).join(", ")], ["User agent", c.userAgent], ["Impersonates", c.impersonates],
      ["Requests", String(c.requests)], ["Reads, writes", `${c.reads}, ${c.changes}`], ["Errors, conflicts", `${c.errors}, ${c.conflicts}`]]
      .filter(([, v]) => v).map(([k, v]) => el("tr", {}, el("th", {}, k), el("td", {}, v))))),
    ...section("Watches", (c.watches || []).map((w) => [w.resource, w.namespace && "in " + w.namespace, w.labelSelector].filter(Boolean).join(" "))),
  ].filter(Boolean);
}

function objectView(found, open) {
  const links = (list) => list.map((o) => button(`${o.kind || o.resource} ${o.name}`, () => open(o), { class: "link" }));
  return el("div", {}, found.gone ? el("p", { class: "problem" }, "The object does not exist any more.") : null,
    ...section("Owners", links((found.owners || []).filter((o) => o.resource))), ...section("Dependents", links((found.dependents || []).filter((o) => o.resource))),
    found.yaml ? el("pre", {}, found.yaml) : null);
}
