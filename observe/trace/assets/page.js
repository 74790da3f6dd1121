"use strict";
(() => {
  const { actors, steps } = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const picture = $("picture"), svg = $("sequence"), header = $("actors"), details = $("details");
  const column = 190, row = 40, clockWidth = 96, top = 14, maxLabel = 60;
  const width = clockWidth + actors.length * column, height = top + steps.length * row + 20;
  let at = steps.length; // how many steps are shown
  let chosen = -1; // index of a step, or -1
  let scale = 1;
  let fitted = true; // until the user zooms

  const element = (name, attributes, parent) => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) e.setAttribute(key, attributes[key]);
    if (parent) parent.append(e);
    return e;
  };
  // The API server is in the middle of the actors, so that arrows stay short.
  const place = (() => {
    const order = actors.map((_, i) => i).slice(1);
    order.splice(Math.min(order.length, Math.max(1, Math.floor(order.length / 2))), 0, 0);
    const places = [];
    order.forEach((actor, i) => { places[actor] = i; });
    return places;
  })();
  const x = (actor) => clockWidth + place[actor] * column + column / 2;
  const y = (i) => top + i * row + 26;

  const shorten = (s) => (s.length > maxLabel ? s.slice(0, maxLabel - 1) + "…" : s);

  // breakable returns a client's name with its user on a line of its own, which breaks after colons: system:serviceaccount:shop:bot.
  const breakable = (name) => name.replace(" (", "\n(").split(/(?<=:)/).flatMap((part) => [part, document.createElement("wbr")]);

  const isOnLine = (s) => s.kind === "sync" || s.kind === "folded"; // it is drawn on the line of its actor, and not as an arrow

  // anchors returns where cause arrows leave and reach a step.
  const anchors = (s, i) => {
    if (isOnLine(s)) return { from: [x(s.actor), y(i) + 8], to: [x(s.actor), y(i) - 18] };
    const api = x(0), own = x(s.actor);
    if (s.kind === "event") return { from: [own, y(i) + 2], to: [api, y(i) - 2] };
    return { from: [api, y(i) + 2], to: [own, y(i) - 2] };
  };

  actors.forEach((name, i) => {
    element("line", { class: "life", x1: x(i), x2: x(i), y1: 0, y2: height }, svg);
    const label = document.createElement("span");
    label.append(...breakable(name));
    label.title = name;
    label.dataset.x = x(i);
    header.append(label);
  });
  const tip = element("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, element("defs", {}, svg));
  element("path", { class: "tip", d: "M0 1 L8 4 L0 7 z" }, tip);
  const causes = element("g", {}, svg); // behind the labels
  const groups = steps.map((s, i) => {
    const g = element("g", { class: `step ${s.kind} ${s.tone}` }, svg);
    element("title", {}, g).textContent = s.facts[0][1];
    element("rect", { class: "row", x: 0, y: top + i * row, width, height: row }, g);
    element("text", { class: "clock", x: 10, y: y(i) + 4 }, g).textContent = s.clock;
    const own = x(s.actor), api = x(0);
    const label = element("text", { class: "label", "text-anchor": "middle", y: y(i) - 7 }, g);
    label.textContent = s.kind === "folded" ? s.label : shorten(s.label);
    if (isOnLine(s)) {
      element("rect", { class: "box", x: own - 7, y: y(i) - 18, width: 14, height: 26, rx: 3 }, g);
      label.setAttribute("text-anchor", "start");
      label.setAttribute("x", own + 13);
      label.setAttribute("y", y(i));
    } else {
      const [begin, end] = s.kind === "event" ? [api, own] : [own, api];
      const way = Math.sign(end - begin);
      element("line", { class: "arrow", x1: begin, x2: end - way * 9, y1: y(i), y2: y(i) }, g);
      if (s.tone) {
        element("path", { class: "arrow", d: `M${end - way * 12} ${y(i) - 6} l${way * 12} 12 m0 -12 l${-way * 12} 12` }, g);
      } else {
        element("path", { class: "head", d: `M${end} ${y(i)} l${-way * 10} -5 v10 z` }, g);
      }
      label.setAttribute("x", (begin + end) / 2);
    }
    g.addEventListener("click", () => choose(chosen === i ? -1 : i));
    return g;
  });
  // A label is moved, not cut, if it begins before or ends behind the picture; that of a
  // sync to the other side of its box.
  const keepInside = () => {
    for (const label of svg.querySelectorAll("text.label")) {
      let box = label.getBBox();
      if (label.getAttribute("text-anchor") === "start" && box.x + box.width > width - 6) {
        label.setAttribute("text-anchor", "end");
        label.setAttribute("x", Number(label.getAttribute("x")) - 26);
        box = label.getBBox();
      }
      const by = Math.max(clockWidth - box.x, Math.min(0, width - 6 - box.x - box.width));
      if (by) label.setAttribute("x", Number(label.getAttribute("x")) + by);
    }
  };
  const arrows = steps.map((s, i) => {
    if (s.cause < 0) return null;
    const [x1, y1] = anchors(steps[s.cause], s.cause).from, [x2, y2] = anchors(s, i).to;
    const bend = Math.min(60, 14 + Math.abs(y2 - y1) / 12);
    return element("path", { class: "cause" + (s.likely ? " likely" : ""), d: `M${x1} ${y1} C${x1 + bend} ${y1 + 10} ${x2 + bend} ${y2 - 10} ${x2 + 1} ${y2}`, "marker-end": "url(#tip)" }, causes);
  });

  // causesOf returns a step and everything that led to it.
  const causesOf = (i) => {
    const found = new Set();
    for (; i >= 0 && !found.has(i); i = steps[i].cause) found.add(i);
    return found;
  };

  const show = () => {
    const chain = chosen >= 0 ? causesOf(chosen) : null;
    groups.forEach((g, i) => {
      g.classList.toggle("later", i >= at);
      g.classList.toggle("chosen", i === chosen);
      g.classList.toggle("aside", i < at && chain !== null && !chain.has(i));
    });
    arrows.forEach((a, i) => {
      if (!a) return;
      a.classList.toggle("later", i >= at);
      a.classList.toggle("chosen", chain !== null && chain.has(i));
      a.classList.toggle("aside", i < at && chain !== null && !chain.has(i));
    });
    $("position").textContent = `${at} of ${steps.length}`;
    details.hidden = chosen < 0;
    if (fitted) fit();
    if (chosen < 0) return;
    const s = steps[chosen];
    details.querySelector("h2").textContent = `${s.clock} ${s.label}`;
    const list = details.querySelector("dl");
    list.replaceChildren();
    for (const [name, value] of s.facts) {
      const term = document.createElement("dt"), fact = document.createElement("dd");
      term.textContent = name;
      fact.textContent = value;
      fact.dir = "auto";
      list.append(term, fact);
    }
  };

  const scrollTo = (i) => {
    const middle = y(i) * scale, view = picture.clientHeight - header.offsetHeight;
    if (middle < picture.scrollTop + row || middle > picture.scrollTop + view - row) picture.scrollTop = middle - view / 2;
    const s = anchors(steps[i], i), left = Math.min(s.from[0], s.to[0]) * scale, right = Math.max(s.from[0], s.to[0]) * scale;
    if (left < picture.scrollLeft + 20 || right > picture.scrollLeft + picture.clientWidth - 20) picture.scrollLeft = (left + right - picture.clientWidth) / 2;
  };
  const choose = (i) => {
    chosen = i;
    at = Math.max(at, i + 1);
    show();
  };
  // stepTo shows the first n steps, and the last of them in detail.
  const stepTo = (n) => {
    at = Math.max(0, Math.min(steps.length, n));
    chosen = at - 1;
    show();
    if (chosen >= 0) scrollTo(chosen);
  };
  const forward = () => stepTo(chosen < 0 && at === steps.length ? 1 : at + 1); // from the whole picture to the first step
  const showAll = () => {
    at = steps.length;
    chosen = -1;
    show();
  };

  const resize = (to) => {
    scale = Math.max(0.2, Math.min(4, to));
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("width", width * scale);
    svg.setAttribute("height", height * scale);
    header.style.width = `${width * scale}px`;
    header.style.fontSize = `${Math.max(9, 14 * scale)}px`;
    for (const label of header.children) {
      label.style.left = `${label.dataset.x * scale}px`;
      label.style.width = `${(column - 8) * scale}px`;
    }
    header.style.height = `${Math.max(...[...header.children].map((label) => label.offsetHeight)) + 12}px`;
    svg.dataset.scale = scale;
  };
  const fit = () => {
    fitted = true;
    resize(Math.min(1.6, (picture.clientWidth - 2) / width));
  };
  const zoom = (by) => {
    fitted = false;
    resize(scale * by);
  };

  const themes = ["auto", "light", "dark"];
  const nextTheme = () => {
    const now = document.documentElement.dataset.theme || "auto", then = themes[(themes.indexOf(now) + 1) % themes.length];
    if (then === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = then;
    $("theme").textContent = `Theme: ${then}`;
  };

  const actions = {
    first: () => stepTo(0), previous: () => stepTo(at - 1), next: forward, all: showAll,
    in: () => zoom(1.25), out: () => zoom(0.8), fit, theme: nextTheme,
  };
  for (const id in actions) $(id).addEventListener("click", actions[id]);
  const keys = {
    ArrowLeft: "previous", ArrowRight: "next", Home: "first", End: "all", a: "all", "+": "in", "=": "in", "-": "out", "0": "fit", t: "theme",
  };
  document.addEventListener("keydown", (e) => {
    const action = keys[e.key];
    if (!action || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    actions[action]();
  });
  picture.addEventListener("wheel", (e) => {
    if (!e.ctrlKey) return;
    e.preventDefault();
    zoom(e.deltaY < 0 ? 1.1 : 1 / 1.1);
  }, { passive: false });

  window.addEventListener("resize", () => { if (fitted) fit(); });

  keepInside();
  fit();
  show();
})();
