// The text of a file that is edited: numbers and colours of the lines that are in view, and the lines with errors.
const editorText = (() => {
  const byId = (id) => document.getElementById(id);
  const KINDS = ["comment", "text", "table", "key", "number"];
  const TOKEN = /(#.*$)|("(?:[^"\\]|\\.)*"?|'[^']*'?)|(^\s*\[\[?[^\]]*\]\]?)|([\w-]+(?=\s*=(?!=)))|(\b(?:true|false)\b|[+-]?\b\d[\w.+-]*)/gu;
  let lines = [""];
  let within = new Set(); // lines that begin within a text of several lines

  function draw() {
    const text = byId("text");
    lines = text.value.split("\n");
    within = text.value.includes('"""') || text.value.includes("'''") ? linesWithin() : new Set();
    const wrong = wrongLines();
    if (wrong.length > 0) text.setAttribute("aria-invalid", "true");
    else text.removeAttribute("aria-invalid");
    nameLine();
    view();
  }
  function linesWithin() {
    const found = new Set();
    let ending = null;
    lines.forEach((line, number) => {
      if (ending) found.add(number);
      for (const [quotes] of line.matchAll(/"""|'''/g)) ending = ending === null ? quotes : ending === quotes ? null : ending;
    });
    return found;
  }

  // Only what is in view has elements, so that a long file costs no more than a short one.
  let isSeen = false;
  function view() {
    if (!isSeen) return; // asking for its size would lay it out
    const text = byId("text"), gutter = byId("gutter"), ink = byId("ink");
    const high = parseFloat(getComputedStyle(text).lineHeight);
    const first = Math.max(0, Math.floor(text.scrollTop / high) - 1);
    const last = Math.min(lines.length, first + Math.ceil(text.clientHeight / high) + 3);
    const wrong = new Set(wrongLines());
    const numbers = document.createElement("div"), inked = document.createElement("div");
    for (let number = first; number < last; number += 1) {
      const one = document.createElement("span");
      one.textContent = number + 1;
      if (wrong.has(number + 1)) one.className = "wrong-line";
      numbers.append(one);
      inked.append(...coloured(lines[number], within.has(number)), "\n");
    }
    const down = first * high - text.scrollTop;
    numbers.style.transform = `translateY(${down}px)`;
    inked.style.transform = `translate(${-text.scrollLeft}px, ${down}px)`;
    gutter.replaceChildren(numbers);
    ink.replaceChildren(inked);
  }
  function coloured(line, isWithin) {
    if (isWithin) return [piece(line, "text")];
    const found = [];
    let at = 0;
    for (const match of line.matchAll(TOKEN)) {
      if (match.index > at) found.push(line.slice(at, match.index));
      found.push(piece(match[0], KINDS[match.slice(1).findIndex((one) => one !== undefined)]));
      at = match.index + match[0].length;
    }
    return [...found, line.slice(at)];
  }
  function piece(text, kind) {
    return Object.assign(document.createElement("span"), { textContent: text, className: `ink-${kind}` });
  }

  // The lines with errors, and the one that the button leads to next.
  let nextLine = 0;
  function wrongLines() {
    return byId("bar").dataset.lines.split(" ").filter(Boolean).map(Number);
  }
  function nameLine() {
    const wrong = wrongLines(), button = byId("to-line");
    if (nextLine >= wrong.length) nextLine = 0;
    button.hidden = wrong.length === 0;
    const which = wrong.length > 1 ? `with an error, ${nextLine + 1} of ${wrong.length}` : "where the error is";
    button.textContent = `Go to line ${wrong[nextLine]}, ${which}`;
  }
  function goTo(line, focus) {
    const text = byId("text");
    const begin = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    if (focus) text.focus();
    isSeen ||= focus;
    text.setSelectionRange(begin, begin + (lines[line - 1]?.length ?? 0));
    text.scrollTop = (line - 4) * parseFloat(getComputedStyle(text).lineHeight);
    view();
  }

  addEventListener("DOMContentLoaded", () => {
    byId("text").addEventListener("scroll", view);
    new IntersectionObserver(([last]) => { isSeen = last.isIntersecting; view(); }).observe(byId("text-block"));
    new ResizeObserver(view).observe(byId("text"));
    byId("to-line").addEventListener("click", () => {
      goTo(wrongLines()[nextLine], true);
      nextLine += 1;
      nameLine();
    });
  });
  return { draw, goTo };
})();
