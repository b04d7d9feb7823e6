"use strict";
(() => {
const D = JSON.parse(document.getElementById("plan").textContent);
const NS = "http://www.w3.org/2000/svg";
const svg = document.querySelector("svg.bay");
const tip = document.getElementById("tip");
const all = (query, root = svg) => [...root.querySelectorAll(query)];
const count = n => n.toLocaleString("en-US");
const names = ["id", "name", "panel", "offset", "size", "start", "end", "colour", "flags", "rects"];
const buffers = D.buffers.map(row => Object.fromEntries(names.map((name, i) => [name, row[i]])));
const byId = new Map(buffers.map(b => [String(b.id), b]));
const rectsOf = b => b.rects || [[b.start, b.end, 0, b.size]];
const make = (name, attributes, parent) => {
  const node = document.createElementNS(NS, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  return parent.appendChild(node);
};

// Steps and bytes to the plot's own pixels; the view is the part a..b of them that is shown.
let a = 0, b = D.plot;
const unit = D.plot / Math.max(1, D.end - D.first);
const xOf = step => (step - D.first) * unit;
const yOf = (panel, byte) => panel.height - (panel.height - panel.head) * byte / Math.max(1, panel.most);
const shown = x => (x - a) * D.plot / (b - a);
const box = (buf, [s, e, lo, hi]) => {
  const panel = D.panels[buf.panel], y = yOf(panel, buf.offset + hi);
  return { x: xOf(s), y, w: xOf(e) - xOf(s), h: yOf(panel, buf.offset + lo) - y };
};

// Hovering.
let hot = null;
const each = (id, act) => all(`[data-b="${id}"]`).forEach(act);
function setHot(id) {
  if (hot === id) return;
  if (hot !== null) each(hot, node => node.classList.remove("hot"));
  hot = id;
  if (hot !== null) each(hot, node => node.classList.add("hot"));
  tip.style.display = hot === null ? "none" : "block";
  if (hot !== null) fill(byId.get(hot));
}
function fill(buf) {
  const op = step => D.ops[step] ? ` (${D.ops[step]})` : "";
  const last = buf.end - 1;
  const lines = [["bytes", count(buf.size)],
    ["place", `${count(buf.offset)}..${count(buf.offset + buf.size)}`],
    ["steps", `${buf.start}..${buf.end}`]];
  if (op(buf.start)) lines.push(["from", `step ${buf.start}${op(buf.start)}`]);
  if (op(last)) lines.push(["last used", `step ${last}${op(last)}`]);
  lines.push(["arena", D.panels[buf.panel].name]);
  const marks = ["live at the peak", "fixed offset", "scratch"].filter((_, i) => buf.flags >> i & 1);
  if (marks.length) lines.push(["marks", marks.join(", ")]);
  lines.push(...(D.notes[buf.id] || []));
  tip.replaceChildren();
  const title = tip.appendChild(document.createElement("b"));
  title.textContent = buf.name || `buffer ${buf.id}`;
  const list = tip.appendChild(document.createElement("dl"));
  for (const [key, value] of lines) {
    list.appendChild(document.createElement("dt")).textContent = key;
    list.appendChild(document.createElement("dd")).textContent = value;
  }
}
function follow(event) {
  const { width, height } = tip.getBoundingClientRect();
  const left = event.clientX + 16, top = event.clientY + 16;
  tip.style.left = `${left + width > innerWidth ? Math.max(0, left - width - 32) : left}px`;
  tip.style.top = `${top + height > innerHeight ? Math.max(0, top - height - 32) : top}px`;
}
svg.addEventListener("pointermove", event => {
  const node = drag ? null : event.target.closest("[data-b]");
  setHot(node && byId.has(node.dataset.b) ? node.dataset.b : null);
  if (hot !== null) follow(event);
});
svg.addEventListener("pointerleave", () => setHot(null));

// Searching.
const search = document.getElementById("search"), found = document.getElementById("found");
let hits = [], at = -1;
const hit = new Set();
function mark() {
  svg.classList.toggle("searching", hits.length > 0);
  all(".hit").forEach(node => node.classList.remove("hit"));
  if (hits.length) all("[data-b]").forEach(node => node.classList.toggle("hit", hit.has(node.dataset.b)));
}
search.addEventListener("input", () => {
  const wanted = search.value.trim().toLowerCase();
  const has = name => name.toLowerCase().includes(wanted);
  const holds = new Set(D.members.filter(m => has(m[1])).map(m => m[0]));
  hits = wanted ? buffers.filter(buf => has(buf.name) || holds.has(buf.id)) : [];
  hit.clear();
  hits.forEach(buf => hit.add(String(buf.id)));
  at = -1;
  found.textContent = wanted ? `${count(hits.length)} found${hits.length ? ", Enter goes to the next" : ""}` : "";
  mark();
});
search.addEventListener("keydown", event => {
  if (event.key === "Escape") { search.value = ""; search.dispatchEvent(new Event("input")); }
  if (event.key !== "Enter" || !hits.length) return;
  const buf = hits[at = (at + 1) % hits.length];
  const from = xOf(buf.start), to = xOf(buf.end), room = Math.max(3 * (to - from), 20 * unit);
  view((from + to - room) / 2, (from + to + room) / 2);
  found.textContent = `${at + 1} of ${count(hits.length)}: ${buf.name}`;
});

// Zooming along the steps.
const plots = all("svg.plot"), heights = plots.map(plot => plot.viewBox.baseVal.height);
const patterns = all("pattern");
const still = all(".labels, .steps, .grid").map(node => [node, node.tagName === "path" ? node.getAttribute("d") : node.innerHTML]);
let due = false;
function view(from, to) {
  const width = Math.min(D.plot, Math.max(to - from, Math.min(D.plot, 4 * unit)));
  a = Math.min(Math.max(0, from), D.plot - width);
  b = a + width;
  if (!due) { due = true; requestAnimationFrame(draw); }
}
function draw() {
  due = false;
  const whole = b - a > D.plot - 1e-9;
  svg.classList.toggle("zoomed", !whole);
  plots.forEach((plot, i) => plot.setAttribute("viewBox", `${a} 0 ${b - a} ${heights[i]}`));
  patterns.forEach(pattern => pattern.setAttribute("patternTransform", `scale(${(b - a) / D.plot} 1)`));
  for (const node of all("[data-x]")) {
    const x = shown(Number(node.dataset.x)), inside = x >= 0 && x <= D.plot;
    node.style.display = inside ? "" : "none";
    if (node.dataset.turn) node.setAttribute("transform", `translate(${D.left + x + 3.5} ${node.dataset.turn}) rotate(-90)`);
    else node.setAttribute("x", D.left + x);
  }
  for (const node of all("[data-peak]")) {
    const { peak, least, y, h } = node.dataset, screen = (b - a) / D.plot;
    const w = Math.max(unit, least * screen), x = Math.min(Math.max(0, xOf(Number(peak)) + (unit - w) / 2), D.plot - w);
    node.setAttribute("d", `M${x} ${y}h${w}v${h}h${-w}z`);
    if (node.classList.contains("pk")) node.classList.toggle("narrow", w / screen < 6);
  }
  all(".more").forEach(node => node.remove());
  if (whole) still.forEach(([node, was]) => node.tagName === "path" ? node.setAttribute("d", was) : node.innerHTML = was);
  else { more(); ticks(); words(); mark(); }
}
// Rectangles that were too thin for the whole picture but can be seen now.
function more() {
  const groups = all(".bufs").map(group => make("g", { class: "more" }, group));
  const scale = D.plot / (b - a);
  let left = 6000;
  for (const buf of buffers) {
    if (buf.flags & 8) continue;
    for (const rect of rectsOf(buf)) {
      const { x, y, w, h } = box(buf, rect);
      if (x > b || x + w < a || w * scale < .3 || h < .3 || !left) continue;
      left--;
      make("path", { class: `${w * scale < 3 || h < 3 ? "t" : "b"} c${buf.colour}`, "data-b": buf.id,
        d: `M${x} ${y}h${w}v${h}h${-w}z` }, groups[buf.panel]);
    }
  }
}
function ticks() {
  const per = unit * D.plot / (b - a), room = Math.max(34, (count(D.end).length + 2) * 7);
  let apart = 1;
  for (let power = 1; apart * per < room; power *= 10)
    apart = [1, 2, 5, 10].map(n => n * power).find(n => n * per >= room) || apart;
  const first = Math.ceil((D.first + a / unit) / apart), last = Math.floor((D.first + b / unit) / apart);
  const steps = Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => (first + i) * apart);
  for (const group of all(".steps")) {
    group.replaceChildren();
    for (const step of steps)
      make("text", { class: "soft", "text-anchor": "middle", x: D.left + shown(xOf(step)), y: group.dataset.y }, group).textContent = count(step);
  }
  all(".grid").forEach((path, i) => path.setAttribute("d",
    path.dataset.rows + steps.map(step => `M${xOf(step)} 0v${heights[i]}`).join("")));
}
const pen = document.createElement("canvas").getContext("2d");
pen.font = `11px ${getComputedStyle(svg).fontFamily}`;
const widthOf = text => pen.measureText(text).width / 11 * 1.04;
function shorten(text, room, least) {
  if (widthOf(text) <= room) return text;
  const chars = [...text];
  for (let kept = Math.min(chars.length - 1, 40); kept >= least; kept--) {
    const front = Math.ceil(kept / 4);
    const short = chars.slice(0, front).join("") + "…" + chars.slice(chars.length - kept + front).join("");
    if (widthOf(short) <= room) return short;
  }
  return null;
}
function wrap(name, room, most) {
  const lines = [""];
  for (const piece of name.match(/[^/._: -]*[/._: -]|[^/._: -]+/g) || []) {
    if (widthOf(lines.at(-1) + piece) <= room) lines[lines.length - 1] += piece;
    else if (widthOf(piece) <= room && lines.length < most) lines.push(piece);
    else return null;
  }
  return lines.filter(Boolean);
}
function fit(name, w, h) {
  const sizes = [11, 9.5, 8];
  const line = (up, least) => {
    const [across, along] = up ? [w, h] : [h, w];
    for (const size of sizes) {
      const text = across >= size * 1.15 + 1 && shorten(name, (along - 4) / size, least);
      if (text) return { lines: [text], size, up };
    }
    return null;
  };
  const wrapped = () => {
    for (const size of sizes) {
      const most = Math.min(4, Math.floor((h - 2) / (size * 1.25)));
      const lines = most > 1 && wrap(name, (w - 4) / size, most);
      if (lines) return { lines, size, up: false };
    }
    return null;
  };
  return line(false, Infinity) || line(true, Infinity) || wrapped() || line(h > w, 4) || line(h <= w, 4);
}
function words() {
  const wanted = [], scale = D.plot / (b - a), shared = new Set(D.members.map(m => m[0]));
  const add = (buf, name, rect) => {
    const { x, y, w, h } = box(buf, rect);
    const from = Math.max(0, shown(x)), to = Math.min(D.plot, shown(x + w));
    if (to - from >= 9 && h >= 9) wanted.push({ buf, name, x: from, y, w: to - from, h });
  };
  for (const [id, label, ...rect] of D.members) if (byId.has(String(id))) add(byId.get(String(id)), label, rect);
  for (const buf of buffers) {
    if (shared.has(buf.id) || !buf.name.trim() || (buf.end - buf.start) * unit * scale < 9) continue;
    const rects = rectsOf(buf), area = ([s, e, lo, hi]) => (e - s) * (hi - lo);
    add(buf, buf.name.trim(), rects.reduce((best, rect) => area(rect) > area(best) ? rect : best));
  }
  wanted.sort((p, q) => q.w * q.h - p.w * p.h);
  const groups = all(".labels"), taken = [];
  groups.forEach(group => group.replaceChildren());
  for (const { buf, name, x, y, w, h } of wanted.slice(0, 1500)) {
    const label = fit(name, w, h);
    if (!label) continue;
    const long = Math.max(...label.lines.map(widthOf)) * label.size, short = label.lines.length * label.size * 1.25;
    const [lw, lh] = label.up ? [short, long] : [long, short];
    const spot = { p: buf.panel, x: x + (w - lw) / 2, y: y + (h - lh) / 2, w: lw, h: lh };
    if (taken.some(t => t.p === spot.p && t.x < spot.x + lw && spot.x < t.x + t.w && t.y < spot.y + lh && spot.y < t.y + t.h)) continue;
    taken.push(spot);
    const text = make("text", { class: "l", "font-size": label.size, transform:
      `translate(${D.left + x + w / 2} ${D.panels[buf.panel].top + y + h / 2})${label.up ? " rotate(-90)" : ""}` }, groups[buf.panel]);
    label.lines.forEach((line, i) => make("tspan", { x: 0,
      dy: label.size * 1.25 * (i ? 1 : (1 - label.lines.length) / 2) }, text).textContent = line);
  }
}
const pixel = event => {
  const rect = svg.getBoundingClientRect();
  return (event.clientX - rect.left) * svg.viewBox.baseVal.width / rect.width - D.left;
};
svg.addEventListener("wheel", event => {
  const x = pixel(event), factor = Math.exp(Math.sign(event.deltaY) * .18);
  if (!event.target.closest(".plot") || (factor > 1 && b - a >= D.plot)) return;
  event.preventDefault();
  const centre = a + x / D.plot * (b - a);
  view(centre - (centre - a) * factor, centre - (centre - a) * factor + (b - a) * factor);
}, { passive: false });
let drag = null;
svg.addEventListener("pointerdown", event => {
  if (event.button !== 0 || !event.target.closest(".plot") || b - a >= D.plot) return;
  drag = { x: pixel(event), a };
  svg.setPointerCapture(event.pointerId);
});
svg.addEventListener("pointermove", event => {
  if (drag) view(drag.a - (pixel(event) - drag.x) / D.plot * (b - a), drag.a - (pixel(event) - drag.x) / D.plot * (b - a) + (b - a));
});
for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => { drag = null; });
const reset = () => view(0, D.plot);
document.getElementById("reset").addEventListener("click", reset);
svg.addEventListener("dblclick", reset);
})();
