// The canvas of a system: Cytoscape.js draws what the server says, and of each change only what changed.
const canvas = (() => {
  const box = document.getElementById("canvas");
  const SHADES = 5; // of the colours in editor.css
  const READABLE = 0.55; // of the size at which letters are 13 px
  const cy = cytoscape({
    container: box, userZoomingEnabled: false, boxSelectionEnabled: false, minZoom: 0.05, maxZoom: 2.5,
    autounselectify: true, layout: { name: "preset" },
  });
  const colours = document.getElementById("colours");
  let held = false; // a part is being dragged, and changes wait
  const waiting = [];

  const value = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  function style() {
    const [ink, soft, paper, panel, edge, link, bad] =
      ["--ink", "--soft", "--paper", "--panel", "--edge", "--link", "--bad"].map(value);
    const leaf = { width: 170, height: "data(high)", shape: "round-rectangle", "background-color": paper, "text-valign": "center" };
    const shades = Array.from({ length: SHADES }, (_, i) => ({
      selector: `.shade-${i}`, style: { "background-color": value(`--shade-${i}`), color: value(`--on-shade-${i}`) } }));
    return [
      { selector: "node", style: {
        label: "data(label)", color: ink, "font-size": 13, "font-family": "system-ui, sans-serif", "text-wrap": "wrap",
        "text-max-width": 160, "border-width": 1.5, "border-color": edge, "line-height": 1.25 } },
      { selector: ".cpu, .gpu, .disk", style: leaf },
      { selector: ".gpu", style: { shape: "cut-rectangle" } },
      { selector: ".disk", style: { shape: "barrel" } },
      { selector: ".folded", style: { ...leaf, "background-color": panel, "border-style": "double", "border-width": 4 } },
      { selector: ".switch, .hub", style: {
        width: 110, height: 34, shape: "round-rectangle", "background-color": soft, color: paper, "text-valign": "center",
        "border-width": 0 } },
      { selector: ".hub", style: { shape: "ellipse", width: 160 } },
      { selector: ".box", style: {
        "background-color": panel, "background-opacity": 0.6, shape: "round-rectangle", padding: 14, "text-valign": "top",
        "text-halign": "left", "text-max-width": 400, "font-weight": 600, "text-margin-y": -4, "text-justification": "left",
        "text-margin-x": (one) => widthOf(one.data("label")) } },
      { selector: ".wan.box", style: { padding: 40 } }, // which leaves room for links at its left
      ...shades,
      { selector: "edge", style: {
        width: 1.5, "line-color": edge, label: "data(label)", color: ink, "font-size": 11, "curve-style": "straight",
        "text-background-color": paper, "text-background-opacity": 0.9, "text-background-padding": 2 } },
      { selector: ".wrong", style: { "border-color": bad, "border-width": 4, "border-style": "dashed", "line-color": bad } },
      { selector: ".chosen", style: { "border-color": link, "border-width": 4, "line-color": link } },
      { selector: "edge.chosen", style: { width: 4 } },
      { selector: ".from", style: { "border-color": link, "border-width": 4, "border-style": "double" } },
    ];
  }
  const pen = document.createElement("canvas").getContext("2d");
  function widthOf(label) {
    pen.font = "600 13px system-ui, sans-serif";
    return Math.max(...label.split("\n").map((line) => pen.measureText(line).width)) + 2;
  }

  // Put elements on the canvas that are new or changed, and take away those that are gone.
  function change({ set, gone, all }) {
    if (all) cy.elements().remove();
    const isNode = (one) => one.group === "nodes";
    const nodes = set.filter(isNode), edges = set.filter((one) => !isNode(one));
    const moved = gone.length > 0 ? nodes : nodes.filter(isMoved);
    cy.batch(() => {
      cy.remove(cy.collection(edges.map((one) => cy.$id(one.data.id))));
      cy.add(nodes.filter((one) => cy.$id(one.data.id).empty()).map(copied));
      for (const one of nodes) {
        const old = cy.$id(one.data.id);
        if ((old.data("parent") ?? null) !== (one.data.parent ?? null)) old.move({ parent: one.data.parent ?? null });
        old.data({ figures: null, ...one.data });
        old.classes(one.classes);
        if (one.position) old.position({ ...one.position });
      }
      for (const id of gone) cy.$id(id).remove();
      cy.add(edges.map(copied));
    });
    cy.edges(".pair").forEach((one, number) => { one.data("number", number); });
    const there = (several) => cy.collection(several.map((one) => cy.$id(one.data.id)));
    canvasLines.draw(all ? cy.edges() : canvasLines.around(there(moved)).union(there(edges)));
    mark();
    shade();
  }
  // Whether links have to be routed again: not where only the label or the look of a symbol changed.
  function isMoved(one) {
    const old = cy.$id(one.data.id);
    if (old.empty() || (old.data("parent") ?? null) !== (one.data.parent ?? null) || old.data("high") !== one.data.high) return true;
    return one.position !== undefined && (old.position().x !== one.position.x || old.position().y !== one.position.y);
  }
  const copied = (one) => ({ ...one, data: { ...one.data }, ...(one.position && { position: { ...one.position } }) });
  function mark() {
    const parts = new Set(editor.parts());
    cy.batch(() => {
      cy.elements(".chosen").filter((one) => !parts.has(one.id())).removeClass("chosen");
      for (const part of parts) cy.$id(part).addClass("chosen");
    });
  }
  function draw(changes) {
    if (changes) waiting.push(changes);
    if (held) return;
    for (const one of waiting.splice(0)) change(one);
    mark();
    if (!visible()) centre();
  }

  // Colours by a figure of the units, in equal steps from its least to its greatest value.
  function shade() {
    const key = colours.value, legend = document.getElementById("legend");
    const known = cy.nodes().filter((one) => key && one.data("figures")?.[key] !== undefined);
    const values = known.map((one) => one.data("figures")[key]);
    const least = Math.min(...values), most = Math.max(...values);
    const step = (figure) => (most > least ? Math.min(SHADES - 1, Math.floor(SHADES * (figure - least) / (most - least))) : 0);
    const names = Array.from({ length: SHADES }, (_, i) => `shade-${i}`);
    cy.batch(() => {
      cy.nodes(names.map((name) => `.${name}`).join(", ")).removeClass(names.join(" "));
      known.forEach((one) => { one.addClass(names[step(one.data("figures")[key])]); });
    });
    legend.replaceChildren(...(values.length === 0 ? [key ? ({ load: "Type numbers of processes below.", computing: "Choose a result below." }[key] ?? "Not known here.") : ""] :
      (most > least ? names : names.slice(0, 1)).map((name, i) => Object.assign(document.createElement("span"), {
        className: `shade ${name}`, textContent: most > least ? `from ${rounded(least + (most - least) * i / SHADES)}` : rounded(least) }))));
  }
  const rounded = (figure) => Number(figure.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 });

  const chosen = () => cy.$(".chosen");
  function visible() {
    if (chosen().empty()) return true;
    const one = chosen().first().renderedBoundingBox({ includeLabels: false });
    return one.x2 > 0 && one.y2 > 0 && one.x1 < cy.width() && one.y1 < cy.height();
  }
  function fit() {
    cy.fit(undefined, 20);
    if (cy.zoom() > 1.2) { cy.zoom(1.2); cy.center(); }
  }
  // All of it if that can be read, else what is around the chosen part.
  function begin() {
    fit();
    const least = box.clientWidth < 500 ? 0.75 : READABLE;
    if (cy.zoom() >= least) return;
    cy.zoom(least + 0.1);
    centre();
  }
  function centre() {
    const part = chosen().empty() ? cy.nodes().first() : chosen().first();
    const frame = part.renderedBoundingBox(), wide = frame.w > cy.width(), high = frame.h > cy.height();
    cy.center(part);
    if (wide) cy.panBy({ x: 20 - part.renderedBoundingBox().x1, y: 0 });
    if (high) cy.panBy({ x: 0, y: 20 - part.renderedBoundingBox().y1 });
  }
  function zoom(factor) {
    cy.zoom({ level: cy.zoom() * factor, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  }

  document.getElementById("zoom-in").addEventListener("click", () => zoom(1.25));
  document.getElementById("zoom-out").addEventListener("click", () => zoom(0.8));
  document.getElementById("zoom-fit").addEventListener("click", fit);
  colours.addEventListener("change", shade);
  cy.on("drag", "node", (event) => canvasLines.draw(canvasLines.around(event.target)));
  addEventListener("DOMContentLoaded", () => {
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => cy.style(style()));
    new ResizeObserver(() => cy.resize()).observe(box);
    document.addEventListener("drawn", (event) => draw(event.detail));
    cy.style(style());
    change({ set: JSON.parse(document.getElementById("canvas-data").dataset.elements), gone: [], all: true });
    begin();
    box.cy = cy; // for tests
    document.documentElement.dataset.drawn = Math.round(performance.now()); // for measurements
  });
  return { cy, box, chosen, draw, mark, zoom, hold(on) { held = on; } };
})();
