// The canvas of a system: Cytoscape.js draws what the server says, and whatever is done here is sent as an operation.
document.addEventListener("DOMContentLoaded", () => {
  const box = document.getElementById("canvas");
  const data = () => document.getElementById("canvas-data");
  const cy = cytoscape({
    container: box, userZoomingEnabled: false, boxSelectionEnabled: false, minZoom: 0.05, maxZoom: 2.5,
    autounselectify: true, layout: { name: "preset" },
  });
  let drawn = "";
  let held = false; // a part is being dragged
  let source = null; // the part that is being connected

  function style() {
    const value = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const [ink, soft, paper, panel, edge, link, bad] =
      ["--ink", "--soft", "--paper", "--panel", "--edge", "--link", "--bad"].map(value);
    const leaf = { width: 170, height: "data(high)", shape: "round-rectangle", "background-color": paper, "text-valign": "center" };
    return [
      { selector: "node", style: {
        label: "data(label)", color: ink, "font-size": 13, "font-family": "system-ui, sans-serif", "text-wrap": "wrap",
        "text-max-width": 160, "border-width": 1.5, "border-color": edge, "line-height": 1.25 } },
      { selector: ".cpu, .gpu, .disk", style: leaf },
      { selector: ".gpu", style: { shape: "cut-rectangle" } },
      { selector: ".disk", style: { shape: "barrel" } },
      { selector: ".switch, .hub", style: {
        width: 110, height: 34, shape: "round-rectangle", "background-color": soft, color: paper, "text-valign": "center",
        "border-width": 0 } },
      { selector: ".hub", style: { shape: "ellipse", width: 160 } },
      { selector: ".box", style: {
        "background-color": panel, "background-opacity": 0.6, shape: "round-rectangle", padding: 14, "text-valign": "top",
        "text-max-width": 400, "font-weight": 600, "text-margin-y": -4, "text-background-color": paper, "text-background-opacity": 0.85,
        "text-background-padding": 2 } },
      { selector: "edge", style: {
        width: 1.5, "line-color": edge, label: "data(label)", color: ink, "font-size": 11, "curve-style": "bezier",
        "text-background-color": paper, "text-background-opacity": 0.9, "text-background-padding": 2 } },
      { selector: ".pair", style: { "curve-style": "unbundled-bezier", "control-point-distances": -70 } },
      { selector: ".wrong", style: { "border-color": bad, "border-width": 4, "border-style": "dashed", "line-color": bad } },
      { selector: ".chosen", style: { "border-color": link, "border-width": 4, "line-color": link, width: 4 } },
      { selector: ".from", style: { "border-color": link, "border-width": 4, "border-style": "double" } },
    ];
  }

  function draw() {
    if (held || data().dataset.elements === drawn) return;
    const first = drawn === "";
    drawn = data().dataset.elements;
    const elements = JSON.parse(drawn);
    cy.batch(() => {
      cy.elements().remove();
      cy.add(elements.map(({ selected, ...one }) => ({ ...one, classes: one.classes + (selected ? " chosen" : "") })));
    });
    if (first) fit();
    else if (!visible()) fit();
  }
  function visible() {
    const chosen = cy.$(".chosen");
    if (chosen.empty()) return true;
    const one = chosen.renderedBoundingBox();
    return one.x1 >= 0 && one.y1 >= 0 && one.x2 <= cy.width() && one.y2 <= cy.height();
  }
  function fit() {
    cy.fit(undefined, 20);
    if (cy.zoom() > 1.2) { cy.zoom(1.2); cy.center(); }
  }
  function zoom(factor) {
    cy.zoom({ level: cy.zoom() * factor, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  }
  function send(fields) { editor.flush(); editor.send(fields); }
  const chosen = () => cy.$(".chosen").first();

  function choose(element) {
    const part = element.data("part");
    if (!part) return;
    if (source !== null) {
      const from = source;
      connecting(null);
      if (from !== part) send({ op: "connect", part: from, target: part });
      return;
    }
    cy.elements(".chosen").removeClass("chosen");
    cy.elements(`[id = "${part}"]`).addClass("chosen");
    editor.choose(part);
  }
  function connecting(part) {
    source = part;
    cy.elements(".from").removeClass("from");
    if (part !== null) cy.elements(`[id = "${part}"]`).addClass("from");
    const said = document.getElementById("canvas-state");
    said.textContent = part === null ? "" :
      "Choose the part to connect it with: click it, or use the arrows and Enter. Escape ends this.";
  }

  // Positions of the symbols in what was moved.
  function positions(element) {
    const leaves = element.isParent() ? element.descendants().filter((one) => !one.isParent()) : element;
    const found = {};
    leaves.forEach((one) => { if (one.data("key")) found[one.data("key")] = Object.values(one.position()).map(Math.round); });
    return JSON.stringify(found);
  }
  function lanUnder(element, at) {
    const own = element.hasClass("node") ? element.parent().id() : element.parent().parent().id();
    const inside = (one) => {
      const b = one.boundingBox({ includeLabels: false });
      return at.x >= b.x1 && at.x <= b.x2 && at.y >= b.y1 && at.y <= b.y2;
    };
    return cy.nodes(".lan").filter((one) => one.id() !== own && inside(one)).first();
  }

  let grabbed = null;
  cy.on("grab", "node", (event) => {
    held = true;
    grabbed = { ...event.target.position() };
  });
  cy.on("free", "node", (event) => {
    held = false;
    const element = event.target, now = element.position();
    if (Math.hypot(now.x - grabbed.x, now.y - grabbed.y) < 2) { draw(); return; }
    const group = element.hasClass("node") ? element : element.closest?.(".node") ?? element;
    const lan = element.hasClass("node") || element.parent().hasClass("node") ? lanUnder(element, event.position) : null;
    if (lan && lan.nonempty()) {
      const part = group.hasClass("node") ? group.data("part") : element.parent().data("part");
      drawn = " ";
      send({ op: "connect", part, target: lan.data("part") });
    } else {
      send({ op: "positions", positions: positions(element) });
    }
  });
  cy.on("tap", "node, edge", (event) => choose(event.target));

  const AHEAD = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  function nearest([dx, dy]) {
    const from = chosen().empty() ? null : chosen();
    const at = from ? from.boundingBox({ includeLabels: false }) : { x1: 0, x2: 0, y1: 0, y2: 0 };
    const centre = (b) => [(b.x1 + b.x2) / 2, (b.y1 + b.y2) / 2];
    const [x, y] = centre(at);
    let best = null, least = Infinity;
    cy.elements("[part != '']").forEach((one) => {
      if (one.data("part") !== one.id() || one.same(chosen())) return;
      const [ox, oy] = centre(one.boundingBox({ includeLabels: false }));
      const along = (ox - x) * dx + (oy - y) * dy;
      const aside = Math.abs((ox - x) * dy) + Math.abs((oy - y) * dx);
      if (along > 1 && along + 2 * aside < least) [best, least] = [one, along + 2 * aside];
    });
    return best;
  }
  let moving = 0;
  function step([dx, dy]) {
    const element = cy.$id(chosen().isParent?.() || chosen().data("key") ? chosen().id() : `${chosen().id()}:unit`);
    if (element.empty() || element.isEdge()) return;
    const leaves = element.isParent() ? element.descendants().filter((one) => !one.isParent()) : element;
    leaves.shift({ x: 20 * dx, y: 20 * dy });
    clearTimeout(moving);
    moving = setTimeout(() => send({ op: "positions", positions: positions(element) }), 400);
  }
  let aim = null; // the part that the arrows are at while another one is being connected
  box.addEventListener("keydown", (event) => {
    const ahead = AHEAD[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (ahead && event.shiftKey) step(ahead);
    else if (ahead) {
      const found = nearest(ahead);
      if (found && source !== null) {
        cy.elements(".chosen").removeClass("chosen");
        found.addClass("chosen");
        aim = found;
      } else if (found) choose(found);
    } else if (event.key === "Enter" && source !== null && aim) { choose(aim); aim = null; }
    else if (event.key === "Enter") document.querySelector("#properties input, #properties select")?.focus();
    else if (event.key.toLowerCase() === "c" && chosen().nonempty()) connecting(chosen().data("part"));
    else if (event.key === "Escape") { connecting(null); drawn = " "; draw(); }
    else if (event.key === "Delete") send({ op: "delete" });
    else if (event.key === "+") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else return;
    event.preventDefault();
  });

  document.getElementById("zoom-in").addEventListener("click", () => zoom(1.25));
  document.getElementById("zoom-out").addEventListener("click", () => zoom(0.8));
  document.getElementById("zoom-fit").addEventListener("click", fit);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => cy.style(style()));
  new ResizeObserver(() => cy.resize()).observe(box);
  document.addEventListener("drawn", draw);
  cy.style(style());
  draw();
  box.cy = cy; // for tests
});
