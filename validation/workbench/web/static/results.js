// Pages of results: menus that stay open while a filter is chosen in them, and close when something else is used.
let open = "";
document.addEventListener("htmx:beforeSwap", () => {
  const menu = document.querySelector("details.menu[open]");
  open = menu ? menu.id : "";
});
document.addEventListener("htmx:afterSwap", () => {
  const menu = open && document.getElementById(open);
  if (menu) menu.open = true;
});
document.addEventListener("toggle", (event) => {
  if (!event.target.matches("details.menu") || !event.target.open) return;
  for (const menu of document.querySelectorAll("details.menu[open]")) if (menu !== event.target) menu.open = false;
  const box = event.target.querySelector(".choices");  // kept inside the window
  const beyond = box.getBoundingClientRect().right - document.documentElement.clientWidth + 8;
  box.style.transform = beyond > 0 ? `translateX(${-beyond}px)` : "";
}, true);
document.addEventListener("click", (event) => {
  if (event.target.isConnected && !event.target.closest("details.menu"))
    for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && document.querySelector("details.menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

// Marks: a point of a figure and the rows of its result are marked together.  The address has the marks, and so do all
// links to tables and figures; the server lists what is marked.
const PLACES = new Set(["/results", "/results/figure", "/results/front"]);
const MOST = 500;
const marks = () => new Set(new URLSearchParams(location.search).getAll("mark"));
let asked = 0;

function withMarks(address, chosen) {
  const url = new URL(address, location.href);
  url.searchParams.delete("mark");
  for (const mark of chosen) url.searchParams.append("mark", mark);
  return url.pathname + url.search;
}

function show(chosen) {
  for (const point of document.querySelectorAll("[data-result]")) {
    const on = chosen.has(point.dataset.result);
    point.classList.toggle("marked", on);
    const box = point.querySelector("input[name=mark]");
    if (box) box.checked = on;
  }
  for (const drawn of document.querySelectorAll("svg.plot:not(.symbol)")) drawn.classList.toggle("marking", drawn.querySelector("a.marked") !== null);
}

function mark(chosen) {
  if (chosen.size > MOST) chosen = new Set([...chosen].slice(0, MOST));
  show(chosen);
  history.replaceState(history.state, "", withMarks(location.href, chosen));
  for (const link of document.querySelectorAll("#shown a[href]")) {
    const url = new URL(link.getAttribute("href"), location.href);
    if (PLACES.has(url.pathname) && !link.closest("#marked, svg")) link.setAttribute("href", withMarks(url, chosen));
  }
  for (const input of document.querySelectorAll("#filters input[name=mark]")) input.remove();
  for (const value of chosen) document.getElementById("filters").append(Object.assign(document.createElement("input"), {type: "hidden", name: "mark", value}));
  const query = document.querySelector(".saving input[name=query]");
  if (query) query.value = withMarks(`/results?${query.value}`, chosen).split("?")[1] || "";
  clearTimeout(asked);
  asked = setTimeout(() => htmx.ajax("GET", location.pathname + location.search, {target: "#marked", select: "#marked", swap: "outerHTML"}), 250);
}

function toggled(chosen, result, on) {
  if (on === undefined ? chosen.has(result) : !on) chosen.delete(result); else chosen.add(result);
  return chosen;
}

document.addEventListener("change", (event) => {
  if (event.target.matches("input[name=mark][form=marks]")) mark(toggled(marks(), event.target.value, event.target.checked));
});
document.addEventListener("click", (event) => {
  const point = event.target.closest("svg.plot a[data-result]");
  if (event.target.closest("#unmark")) {
    event.preventDefault();
    mark(new Set());
  } else if (point && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    if (event.detail < 2) mark(toggled(marks(), point.dataset.result));
  }
});
document.addEventListener("dblclick", (event) => {
  const point = event.target.closest("svg.plot a[data-result]");
  if (point) location.assign(point.getAttribute("href"));
});

// A box over the plot marks what is in it.  Fingers scroll; a mouse or a pen draws the box.
let box = null;
document.addEventListener("pointerdown", (event) => {
  const drawn = event.target.closest("svg.plot[data-box]");
  if (!drawn || event.button || event.pointerType === "touch" || event.target.closest("a")) return;
  const from = at(drawn, event);
  const [left, top, right, bottom] = drawn.dataset.box.split(" ").map(Number);
  if (from.x < left || from.x > right || from.y < top || from.y > bottom) return;
  event.preventDefault();
  const shape = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  shape.setAttribute("class", "brush");
  drawn.append(shape);
  box = {drawn, from, shape, limits: {left, top, right, bottom}, before: event.shiftKey ? marks() : new Set()};
});
document.addEventListener("pointermove", (event) => {
  if (!box) return;
  const to = at(box.drawn, event), {left, top, right, bottom} = box.limits;
  to.x = Math.min(right, Math.max(left, to.x));
  to.y = Math.min(bottom, Math.max(top, to.y));
  box.area = {x: Math.min(box.from.x, to.x), y: Math.min(box.from.y, to.y), width: Math.abs(to.x - box.from.x), height: Math.abs(to.y - box.from.y)};
  for (const [name, value] of Object.entries(box.area)) box.shape.setAttribute(name, value);
});
document.addEventListener("pointerup", () => {
  if (!box) return;
  const {drawn, area, shape, before} = box;
  shape.remove();
  box = null;
  if (!area || area.width + area.height < 4) return;
  const chosen = before;
  for (const point of drawn.querySelectorAll("a[data-result]")) {
    const of = point.querySelector(".mark").getBBox(), x = of.x + of.width / 2, y = of.y + of.height / 2;
    if (x >= area.x && x <= area.x + area.width && y >= area.y && y <= area.y + area.height) chosen.add(point.dataset.result);
  }
  mark(chosen);
});
document.addEventListener("pointercancel", () => { if (box) box.shape.remove(); box = null; });

function at(drawn, event) {
  return new DOMPoint(event.clientX, event.clientY).matrixTransform(drawn.getScreenCTM().inverse());
}

function begin() {
  show(marks());
  for (const said of document.querySelectorAll(".scripted")) said.hidden = false;
  for (const form of document.querySelectorAll("#marks")) form.hidden = true;
  for (const frame of document.querySelectorAll(".plot-box")) frame.classList.add("brushed");
}
document.addEventListener("htmx:afterSettle", begin);
begin();
