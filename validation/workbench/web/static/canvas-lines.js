// Where the links of a system run: between the rows of its parts and past their titles, which are at the upper left.
const canvasLines = (() => {
  const AT_RIGHT = 40, UNIT_AT_RIGHT = 75; // from the middle of a switch and of a unit to where a link arrives
  const TITLE = { lan: 38, wan: 38, node: 20, folded: 69 }; // height above a box: of its title; of a folded level as beside it
  const SHARES = 6; // lines of a mesh beside each other

  // The box in which a link arrives, and how far right of the middle of its symbol.
  function arrival(node) {
    if (node.hasClass("folded")) return { box: node, aside: 0, title: node.hasClass("range") && !node.parent().hasClass("wan") ? 0 : TITLE.folded };
    const box = node.parent();
    if (box.empty()) return { box: node, aside: 0, title: 0 };
    const kind = ["lan", "wan", "node"].find((one) => box.hasClass(one));
    return { box, aside: { lan: AT_RIGHT, wan: 0, node: UNIT_AT_RIGHT }[kind] ?? 0, title: TITLE[kind] ?? 0 };
  }
  const frame = (element) => element.boundingBox({ includeLabels: false, includeOverlays: false });
  const half = (node) => node.height() / 2;

  // The corners of a link, and where it leaves and arrives, relative to the middles of its symbols.
  function route(edge) {
    const source = edge.source(), target = edge.target(), s = source.position(), t = target.position();
    if (edge.hasClass("bus")) return bus(edge, source, target, s, t);
    const there = arrival(target), box = frame(there.box), above = box.y1 - there.title - 9;
    const x = t.x + there.aside, leaves = s.y + half(source), arrives = [there.aside, -half(target)];
    if (edge.hasClass("pair")) return pair(edge, source, target, { s, x, above, arrives, box });
    const under = leaves + 10;
    if (above < under) return { corners: [], leaves: null, arrives: null }; // moved above its hub: straight
    const from = [0, half(source)];
    if (above - under < 100) return { corners: [[s.x, under], [x, under]], leaves: from, arrives };
    const channel = edge.hasClass("lane") ? t.x + 115 : leftOf(source);
    return { corners: [[s.x, under], [channel, under], [channel, above], [x, above]], leaves: from, arrives };
  }
  // Left of all levels of a WAN, where links to its lower rows run: these have boxes of different widths.
  function leftOf(hub) {
    const wan = hub.parent();
    return Math.min(...wan.children().map((one) => frame(one).x1)) - 16;
  }
  function bus(edge, source, target, s, t) {
    if (!edge.hasClass("far") || Math.abs(s.x - t.x) > 40) return { corners: [], leaves: null, arrives: null };
    const side = Math.min(s.x - source.width() / 2, t.x - target.width() / 2) - 7;
    return { corners: [[side, s.y], [side, t.y]], leaves: [-source.width() / 2, 0], arrives: [-target.width() / 2, 0] };
  }
  function pair(edge, source, target, { s, x, above, arrives, box }) {
    const here = arrival(source), own = frame(here.box);
    const share = 6 * (edge.data("number") % SHARES);
    const from = own.y1 - here.title - 9 - share, to = above - share, out = s.x + here.aside;
    const leaves = [here.aside, -half(source)];
    if (Math.abs(own.y1 - box.y1) < 20) {
      const y = Math.min(from, to);
      return { corners: [[out, y], [x, y]], leaves, arrives };
    }
    const channel = Math.min(leftOf(source.parent()), leftOf(target.parent())) + share / 3;
    return { corners: [[out, from], [channel, from], [channel, to], [x, to]], leaves, arrives };
  }

  // The style of a link that has these corners: they are given relative to the line between the middles.
  function styleOf(edge) {
    const { corners, leaves, arrives } = route(edge);
    const s = edge.source().position(), t = edge.target().position();
    const dx = t.x - s.x, dy = t.y - s.y, long = Math.hypot(dx, dy);
    if (corners.length === 0 || long < 1) {
      return { "curve-style": "straight", "source-endpoint": "outside-to-node", "target-endpoint": "outside-to-node" };
    }
    const weights = corners.map(([x, y]) => ((x - s.x) * dx + (y - s.y) * dy) / (long * long));
    const distances = corners.map(([x, y]) => ((y - s.y) * dx - (x - s.x) * dy) / long);
    return {
      "curve-style": "segments", "edge-distances": "node-position", "segment-weights": weights.join(" "),
      "segment-distances": distances.join(" "), "source-endpoint": leaves.map((one) => `${one}px`).join(" "),
      "target-endpoint": arrives.map((one) => `${one}px`).join(" "),
    };
  }
  function draw(edges) {
    edges.forEach((edge) => { edge.style(styleOf(edge)); });
  }
  // The links at parts that were moved, also at those in them and at those whose boxes they are in.
  function around(elements) {
    const boxes = elements.union(elements.parents());
    return boxes.union(boxes.descendants()).connectedEdges();
  }
  return { draw, around };
})();
