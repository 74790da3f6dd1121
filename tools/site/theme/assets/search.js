// Searches search.json, and fills the list of versions. Both are files beside the pages.
"use strict";
const input = document.getElementById("search");
const results = document.getElementById("results");
let index; // a promise of the entries

function load() {
  index ??= fetch("search.json").then((r) => r.json());
  return index;
}

// rank returns how well an entry matches all words: 0 = not at all.
function rank(entry, words) {
  const heading = entry.heading.toLowerCase(), text = entry.text.toLowerCase();
  let sum = 0;
  for (const word of words) {
    if (heading.includes(word)) sum += 10;
    else if (text.includes(word)) sum += 1;
    else return 0;
  }
  return sum;
}

// excerpt returns the text around the first word.
function excerpt(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 40);
  return (at > 0 ? "…" : "") + text.slice(at, at + 140);
}

async function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  results.hidden = words.length === 0;
  if (results.hidden) return;
  const found = (await load())
    .map((entry) => ({ entry, rank: rank(entry, words) }))
    .filter((f) => f.rank > 0)
    .sort((a, b) => b.rank - a.rank)
    .slice(0, 12);
  results.replaceChildren(...found.map(({ entry }) => {
    const link = document.createElement("a");
    link.href = entry.link;
    link.textContent = entry.heading === entry.page ? entry.page : `${entry.page}: ${entry.heading}`;
    const small = document.createElement("small");
    small.textContent = excerpt(entry.text, words[0]);
    link.append(small);
    const item = document.createElement("li");
    item.append(link);
    return item;
  }));
  if (found.length === 0) {
    const item = document.createElement("li");
    item.textContent = "Nothing found";
    results.replaceChildren(item);
  }
  results.querySelector("a")?.classList.add("chosen");
}

function move(by) {
  const links = [...results.querySelectorAll("a")];
  const at = links.findIndex((l) => l.classList.contains("chosen"));
  links[at]?.classList.remove("chosen");
  links[Math.min(links.length - 1, Math.max(0, at + by))]?.classList.add("chosen");
}

input.addEventListener("input", search);
input.addEventListener("keydown", (e) => {
  if (e.key === "Escape") { input.value = ""; search(); input.blur(); }
  if (e.key === "ArrowDown") { move(1); e.preventDefault(); }
  if (e.key === "ArrowUp") { move(-1); e.preventDefault(); }
  if (e.key === "Enter") results.querySelector("a.chosen")?.click();
});
document.addEventListener("keydown", (e) => {
  if (e.key === "/" && document.activeElement !== input) { input.focus(); e.preventDefault(); }
});
results.addEventListener("click", () => { results.hidden = true; });

const versions = document.getElementById("versions");
const shown = versions.value;
fetch("../versions.json").then((r) => r.json()).then((all) => {
  versions.replaceChildren(...all.map((v) => new Option(v, v, v === shown, v === shown)));
}).catch(() => {}); // opened as a file, or built alone: there is just this version
versions.addEventListener("change", () => { location.href = `../${versions.value}/`; });
