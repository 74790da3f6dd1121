// Shared by all canvases.
const font = "12px system-ui, sans-serif";
let colours = {};

function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["surface", "text", "faint", "line", "hover", "accent", "sync", "write", "good", "bad", "caution", "other", "window"]) {
    colours[name] = style.getPropertyValue("--" + name).trim();
  }
}

// begin resizes a canvas to its displayed size and returns the drawing context.
function begin(canvas, height) {
  const scale = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  canvas.style.height = height + "px";
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.font = font;
  pen.textBaseline = "middle";
  return { pen, width, height, gutter: gutter(width) };
}

// gutter is the width of the names on the left; on a small screen they are above.
const gutter = (width) => (width < 700 ? 0 : 210);

const toX = (ms, view) => view.gutter + ((ms - span.from) / (span.to - span.from)) * (view.width - view.gutter);
const toTime = (x, view) => span.from + ((x - view.gutter) / (view.width - view.gutter)) * (span.to - span.from);

// ticks returns round times, far enough apart for their labels.
function ticks(view) {
  const rough = ((span.to - span.from) * 90) / (view.width - view.gutter);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((s) => s >= rough);
  const list = [];
  for (let at = Math.ceil(span.from / step) * step; at <= span.to; at += step) list.push(at);
  return { list, step };
}

function grid(view, from) {
  view.pen.fillStyle = colours.line;
  for (const at of ticks(view).list) view.pen.fillRect(Math.round(toX(at, view)), from, 1, view.height - from);
}

function label(view, text, x, y, room, colour) {
  const { pen } = view;
  pen.fillStyle = colour;
  if (pen.measureText(text).width > room) {
    let length = Math.floor((text.length * room) / pen.measureText(text).width);
    while (length > 0 && pen.measureText(text.slice(0, length) + "…").width > room) length--;
    text = text.slice(0, length) + "…";
  }
  pen.fillText(text, x, y);
}

function drawAxis() {
  const view = begin(byId("axis"), 24);
  const { list, step } = ticks(view);
  for (const at of list) {
    const x = toX(at, view);
    view.pen.fillStyle = colours.line;
    view.pen.fillRect(Math.round(x), 16, 1, 8);
    view.pen.textAlign = x < view.gutter + 30 ? "left" : x > view.width - 30 ? "right" : "center";
    view.pen.fillStyle = colours.faint;
    view.pen.fillText(seconds(at, step), x, 9);
  }
  view.pen.fillStyle = colours.line;
  view.pen.fillRect(0, 23, view.width, 1);
}
