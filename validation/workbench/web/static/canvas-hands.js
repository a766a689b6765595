// What pointer and keyboard do on the canvas of a system: choose parts, add, move, connect and fold them.
(() => {
  const { cy, box, chosen, draw, hold } = canvas;
  const palette = document.getElementById("palette");
  const ADDING = { n: "node", l: "lan", w: "wan", p: "cpu", g: "gpu", d: "disk" };
  let source = null; // the part that is being connected
  let aim = null; // the part that the arrows are at while another one is connected, or several are chosen

  function send(fields) { editor.flush(); editor.send(fields); }
  function say(text) { document.getElementById("canvas-state").textContent = text; }

  function choose(element, several = false) {
    const part = element.data("part");
    if (!part) return;
    if (source !== null) {
      const from = source;
      connecting(null);
      if (from !== part) send({ op: "connect", part: from, target: part, also: "" });
      return;
    }
    if (several) editor.toggle(part);
    else editor.choose(part);
    canvas.mark();
  }
  function connecting(part) {
    source = part;
    cy.elements(".from").removeClass("from");
    if (part !== null) cy.$id(part).addClass("from");
    say(part === null ? "" : "Choose the part to connect it with: click it, or use the arrows and Enter. Escape ends this.");
  }
  function add(kind, part) { send({ op: `add-${kind}`, ...(part && { part, also: "" }) }); }

  // Positions of the symbols in what was moved.
  function positions(elements) {
    const found = {};
    const leaves = elements.union(elements.descendants()).filter((one) => !one.isParent() && one.data("key"));
    leaves.forEach((one) => { found[one.data("key")] = Object.values(one.position()).map(Math.round); });
    return JSON.stringify(found);
  }
  const holds = (element, at) => {
    const b = element.boundingBox({ includeLabels: false });
    return at.x >= b.x1 && at.x <= b.x2 && at.y >= b.y1 && at.y <= b.y2;
  };
  function lanUnder(element, at) {
    const own = element.hasClass("node") ? element.parent().id() : element.parent().parent().id();
    return cy.nodes(".lan").filter((one) => one.id() !== own && holds(one, at)).first();
  }

  let grabbed = null;
  cy.on("grab", "node", (event) => {
    hold(true);
    grabbed = { ...event.target.position() };
  });
  cy.on("free", "node", (event) => {
    hold(false);
    const element = event.target, now = element.position();
    if (Math.hypot(now.x - grabbed.x, now.y - grabbed.y) < 2) { draw(); return; }
    const group = element.hasClass("node") ? element : element.parent();
    const lan = group.hasClass("node") ? lanUnder(element, event.position) : null;
    const part = group.data("part"), parts = editor.parts();
    if (lan && lan.nonempty()) {
      if (parts.includes(part) && parts.length > 1) send({ op: "connect", part: parts[0], also: parts.slice(1).join(" "), target: lan.data("part") });
      else send({ op: "connect", part, also: "", target: lan.data("part") });
    } else send({ op: "positions", positions: positions(element) });
  });
  cy.on("tap", "node, edge", (event) => {
    const { ctrlKey, metaKey, shiftKey } = event.originalEvent;
    choose(event.target, ctrlKey || metaKey || shiftKey);
  });
  cy.on("dbltap", ".lan, .switch", (event) => editor.fold(event.target.data("part"), !event.target.hasClass("folded")));

  // The row of parts: a click adds to the chosen part, and a part is dropped where it belongs.
  palette.addEventListener("click", (event) => {
    const kind = event.target.dataset.add;
    if (kind) add(kind);
  });
  palette.addEventListener("dragstart", (event) => {
    event.dataTransfer.setData("application/x-part", event.target.dataset.add);
    event.dataTransfer.effectAllowed = "copy";
  });
  palette.addEventListener("keydown", (event) => {
    const buttons = [...palette.querySelectorAll("button")], at = buttons.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (to === undefined || !buttons[to]) return;
    event.preventDefault();
    buttons.forEach((one, i) => { one.tabIndex = i === to ? 0 : -1; });
    buttons[to].focus();
  });
  box.addEventListener("dragover", (event) => {
    if (event.dataTransfer.types.includes("application/x-part")) event.preventDefault();
  });
  box.addEventListener("drop", (event) => {
    const kind = event.dataTransfer.getData("application/x-part");
    if (!kind) return;
    event.preventDefault();
    const frame = box.getBoundingClientRect(), pan = cy.pan();
    const at = { x: (event.clientX - frame.x - pan.x) / cy.zoom(), y: (event.clientY - frame.y - pan.y) / cy.zoom() };
    const under = cy.nodes().filter((one) => holds(one, at)).sort((a, b) => a.boundingBox().w - b.boundingBox().w).first();
    add(kind, under.empty() ? "" : under.data("part"));
    box.focus();
  });

  const AHEAD = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const parts = () => cy.elements("[part != '']").filter((one) => one.data("part") === one.id() || one.hasClass("range"));
  function nearest([dx, dy]) {
    const from = aim ?? (chosen().empty() ? null : chosen().first());
    const at = from ? from.boundingBox({ includeLabels: false }) : { x1: 0, x2: 0, y1: 0, y2: 0 };
    const centre = (b) => [(b.x1 + b.x2) / 2, (b.y1 + b.y2) / 2];
    const [x, y] = centre(at);
    let best = null, least = Infinity;
    parts().forEach((one) => {
      if (from && one.same(from)) return;
      const [ox, oy] = centre(one.boundingBox({ includeLabels: false }));
      const along = (ox - x) * dx + (oy - y) * dy;
      const aside = Math.abs((ox - x) * dy) + Math.abs((oy - y) * dx);
      if (along > 1 && along + 2 * aside < least) [best, least] = [one, along + 2 * aside];
    });
    return best;
  }
  // The next part in the order of the list; null: the last one.
  function following(step) {
    const all = [...document.querySelectorAll("#parts a[data-part]")].map((one) => one.dataset.part);
    return all[all.indexOf(editor.parts()[0]) + step] ?? null;
  }
  let moving = 0;
  function step([dx, dy]) {
    const elements = chosen().map((one) => (one.isParent() || one.data("key") ? one : cy.$id(`${one.id()}:unit`)));
    const moved = cy.collection(elements).filter((one) => one.nonempty() && one.isNode());
    if (moved.empty()) return;
    moved.union(moved.descendants()).filter((one) => !one.isParent()).shift({ x: 20 * dx, y: 20 * dy });
    canvasLines.draw(canvasLines.around(moved));
    clearTimeout(moving);
    moving = setTimeout(() => send({ op: "positions", positions: positions(moved) }), 400);
  }
  function point(element) {
    aim = element;
    cy.elements(".from").removeClass("from");
    if (source !== null) cy.$id(source).addClass("from");
    element.addClass("from");
  }
  box.addEventListener("keydown", (event) => {
    const ahead = AHEAD[event.key], key = event.key.toLowerCase();
    if (event.ctrlKey && ahead) { // aims at a part beside those that are chosen
      const found = nearest(ahead);
      if (found) point(found);
    } else if (event.ctrlKey || event.metaKey || event.altKey) return;
    else if (ahead && event.shiftKey) step(ahead);
    else if (ahead) {
      const found = nearest(ahead);
      if (found && source !== null) point(found);
      else if (found) { aim = null; choose(found); }
    } else if (event.key === "Tab") {
      const part = following(event.shiftKey ? -1 : 1);
      if (part === null) return; // the browser goes on
      editor.choose(part);
      canvas.mark();
    } else if (event.key === " " && aim) { choose(aim, true); cy.elements(".from").removeClass("from"); }
    else if (event.key === "Enter" && source !== null && aim) { choose(aim); aim = null; }
    else if (event.key === "Enter") document.querySelector("#properties input, #properties select")?.focus();
    else if (key === "c" && chosen().nonempty()) connecting(chosen().first().data("part"));
    else if (key === "f" && chosen().nonempty()) fold();
    else if (ADDING[key]) add(ADDING[key]);
    else if (event.key === "Escape") {
      if (source === null && aim === null) document.querySelector("#parts a[aria-current]")?.focus();
      connecting(null);
      aim = null;
    } else if (event.key === "Delete") send({ op: "delete" });
    else if (event.key === "+") canvas.zoom(1.25);
    else if (event.key === "-") canvas.zoom(0.8);
    else return;
    event.preventDefault();
  });
  function fold() {
    const part = editor.parts()[0], folded = cy.$id(part).hasClass("folded");
    const lan = part.match(/^(?:.*?\.)?lan(?:\.\d+)?(?=$|\.node)/)?.[0];
    if (lan) editor.fold(lan, !folded);
  }
  if (document.referrer.endsWith("/systems/new")) box.focus({ preventScroll: true }); // it was begun to be drawn
})();
