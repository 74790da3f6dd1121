// Elements. Text from the control plane becomes a text node, never markup.

export function el(tag, props = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") e.className = value;
    else if (name === "on") for (const [event, f] of Object.entries(value)) e.addEventListener(event, f);
    else e.setAttribute(name, value === true ? "" : value);
  }
  e.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

export function svg(tag, attributes = {}) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  return e;
}

export const byId = (id) => document.getElementById(id);

export function button(text, click, props = {}) {
  return el("button", { type: "button", ...props, on: { click } }, text);
}

// update gives new children to an element that has no text of its own. Those that say the same as before stay,
// and with them the focus and a click that has begun; of those with a data-key, the children are updated.
export function update(parent, children) {
  const focused = document.activeElement;
  const before = new Set(parent.childNodes);
  const wanted = children.map((child) => {
    const { key } = child.dataset;
    const old = [...before].find((e) => (key ? e.dataset.key === key : e.isEqualNode(child)));
    if (!old) return child;
    before.delete(old);
    if (key) update(old, [...child.children]);
    return old;
  });
  for (const e of before) e.remove();
  wanted.forEach((e, i) => parent.childNodes[i] === e || parent.insertBefore(e, parent.childNodes[i] ?? null));
  if (focused !== document.activeElement && parent.contains(focused)) focused.focus({ preventScroll: true }); // it was moved
}

// show sets the text of an element only if it differs: that costs no layout.
export function show(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export const unit = () => parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
