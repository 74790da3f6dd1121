// User input.
let waiting = 0;

// redraw draws at most once per frame.
function redraw() {
  if (waiting) return;
  waiting = requestAnimationFrame(() => {
    waiting = 0;
    drawOverview();
    drawAxis();
    drawLanes();
    drawQueues();
    drawRecords();
  });
}

function layOut() {
  layLanes();
  layQueues();
  redraw();
}

function useSearch() {
  const field = byId("search");
  field.addEventListener("input", () => {
    shown.terms = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    filterMarks();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.matches("input")) return;
    event.preventDefault();
    field.focus();
  });
  for (const box of document.querySelectorAll("[data-kind]")) {
    box.addEventListener("change", () => {
      shown[box.dataset.kind] = box.checked;
      filterMarks();
    });
  }
  byId("trouble").addEventListener("change", (event) => {
    shown.trouble = event.target.checked;
    filterMarks();
  });
  byId("more").addEventListener("click", () => {
    limit += batch;
    drawRecords();
  });
}

const keys = {
  "+": zooms.in, "=": zooms.in, "-": zooms.out, "−": zooms.out, ArrowLeft: zooms.left, ArrowRight: zooms.right, 0: zooms.all, Home: zooms.all,
  n: () => step(1), p: () => step(-1), Escape: () => select(null),
};

function useZoom() {
  for (const button of document.querySelectorAll("[data-zoom]")) button.addEventListener("click", zooms[button.dataset.zoom]);
  for (const id of ["scroll", "queues-scroll"]) {
    byId(id).addEventListener("keydown", (event) => {
      const act = keys[event.key] || keys[event.key.toLowerCase()];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    });
  }
  for (const button of document.querySelectorAll("button[data-at]")) {
    button.addEventListener("click", () => {
      showTime(Number(button.dataset.at), Number(button.dataset.took || 0) * 1000);
      byId("timeline").scrollIntoView();
      byId("scroll").focus({ preventScroll: true });
    });
  }
}

// usePointer adds dragging, zooming and tooltips to a canvas.
function usePointer(canvas, viewOf, describe, click) {
  let last = null, moved = 0;
  canvas.addEventListener("pointerdown", (event) => {
    [last, moved] = [event.clientX, 0];
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (last === null) return tip(event, describe(event.offsetX, event.offsetY));
    const by = last - event.clientX, view = viewOf();
    moved += Math.abs(by);
    last = event.clientX;
    if (moved < 4) return;
    canvas.classList.add("moving");
    tip(event, "");
    pan(by / (view.width - view.gutter));
  });
  const end = (event) => {
    if (event.type === "pointerup" && last !== null && moved < 4) click(event.offsetX, event.offsetY);
    last = null;
    canvas.classList.remove("moving");
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerleave", (event) => tip(event, ""));
  canvas.addEventListener("dblclick", (event) => zoom(2, toTime(event.offsetX, viewOf())));
  canvas.addEventListener("wheel", (event) => {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
    if (!event.ctrlKey && !event.metaKey && !sideways) return;
    event.preventDefault();
    if (sideways) pan((event.deltaX || event.deltaY) / 800);
    else zoom(2 ** (-event.deltaY / 200), toTime(event.offsetX, viewOf()));
  }, { passive: false });
}

const bubble = element("div");
function tip(event, text) {
  bubble.hidden = !text;
  bubble.textContent = text;
  bubble.style.left = Math.min(event.clientX + 14, innerWidth - bubble.offsetWidth - 8) + "px";
  bubble.style.top = Math.min(event.clientY + 16, innerHeight - bubble.offsetHeight - 8) + "px";
}

function describeMark(x, y) {
  const m = markAt(x, y);
  if (!m) return "";
  return [m.kind === "sync" ? `sync of ${m.what}` : m.what, m.about, m.took ? duration(m.took) : "", m.note].filter(Boolean).join(" · ");
}

function useTheme() {
  const button = byId("theme"), themes = ["auto", "light", "dark"];
  let now = 0;
  button.addEventListener("click", () => {
    now = (now + 1) % themes.length;
    button.textContent = `Theme: ${themes[now]}`;
    if (now) document.documentElement.dataset.theme = themes[now];
    else delete document.documentElement.dataset.theme;
    readColours();
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    readColours();
    redraw();
  });
}

bubble.id = "tip";
bubble.hidden = true;
document.body.append(bubble);
readColours();
shown.listeners.push(layOut, searchTables, () => (limit = batch));
span.listeners.push(showRange, redraw, () => (limit = batch));
useSearch();
useZoom();
useOverview();
usePointer(byId("lanes"), () => lanes.view, describeMark, (x, y) => select(markAt(x, y)));
usePointer(byId("depths"), () => depths.view, describeDepth, () => {});
useTheme();
for (const box of document.querySelectorAll("[data-from-end]")) box.scrollTop = box.scrollHeight;
addEventListener("resize", layOut);
setSpan(0, span.end);
filterMarks();
