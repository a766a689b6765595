// The editors of systems and applications: every change goes to the server at once, in order, and is kept there as a
// draft.  The answer is the whole page, of which the parts that changed are taken.  Without this file the same form works
// with its buttons.
const editor = (() => {
  const form = document.getElementById("editor");
  const address = form.dataset.address;
  const kept = `draft:${location.origin}${address}`; // text that the server has not got yet
  const blocks = ["bar", "message", "properties", "parts", "canvas-data", "text-block", "placing", "placed"];
  const queue = [];
  let busy = false;
  let timer = 0;

  const byId = (id) => document.getElementById(id);
  const seen = () => form.elements.seen.value;

  // Ask for a change.  `typing` is the field in which the user is; its part of the page is left alone.
  function send(fields, typing = null) {
    const same = queue.findIndex((one, i) => i > 0 && typing && one.typing === typing && one.fields.op === fields.op);
    if (same > 0) queue.splice(same, 1);
    queue.push({ fields: { part: form.elements.part.value, ...fields }, typing });
    next();
  }

  function context() {
    const found = {};
    for (const field of form.querySelectorAll("#placing input, #placing select")) {
      if (field.name && field.value) found[field.name] = field.value;
    }
    return found;
  }

  async function next() {
    if (busy || queue.length === 0) return;
    busy = true;
    const { fields, typing } = queue[0];
    const around = { ...context(), ...fields };
    let answer;
    try {
      if (fields.op === "show") {
        delete around.op;
        answer = await fetch(`${address}?${new URLSearchParams(around)}`, { headers: { "x-editor": "1" } });
      } else {
        const token = form.elements.form_token.value;
        if (fields.op !== "text") byId("text").readOnly = true; // it is about to change
        const body = new URLSearchParams({ ...around, form_token: token, seen: seen() });
        answer = await fetch(address, { method: "POST", headers: { "x-editor": "1" }, body });
      }
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (answer.status >= 500) {
        const why = page.querySelector(".error")?.textContent.trim() ?? "";
        again(`The server cannot keep it now. ${why} What you typed is kept here, and is sent again.`, 3000);
        return;
      }
      say("");
      queue.shift();
      take(page, answer, typing, fields);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      again("The server does not answer. What you typed is kept here, and is sent as soon as it answers again.", 1000);
    } finally {
      busy = false;
      if (byId("text")) byId("text").readOnly = false;
    }
    if (queue.length === 0) forget();
    else if (byId("sending").hidden) next();
  }

  function again(text, pause_ms) {
    say(text);
    clearTimeout(timer);
    timer = setTimeout(next, pause_ms);
  }

  function say(text) {
    byId("sending").textContent = text;
    byId("sending").hidden = text === "";
  }

  function take(page, answer, typing, fields) {
    const bar = page.getElementById("bar");
    if (!bar) { // another page: an error, or the list after a draft was discarded
      if (answer.redirected) location.assign(answer.url);
      else say(page.querySelector(".error, body")?.textContent.trim() || "That did not work. Reload the page.");
      return;
    }
    const elsewhere = !answer.ok && page.querySelector("[name=seen]").value !== seen();
    for (const id of elsewhere ? ["message"] : blocks) replace(id, page, typing);
    const part = form.elements.part.value;
    const params = new URLSearchParams({ ...context(), part });
    if (params.get("policy") === byId("policy")?.options[0].value) params.delete("policy");
    history.replaceState(null, "", `${address}?${params}`);
    if (fields.op?.startsWith("add") || fields.op === "copy") byId(`part-${part}`)?.scrollIntoView({ block: "nearest" });
    drawn();
  }

  function replace(id, page, typing) {
    const old = byId(id), fresh = page.getElementById(id);
    const inUse = [typing, pending, ...queue.map((one) => one.typing)];
    if (!old || !fresh || inUse.some((field) => field && old.contains(field))) return;
    if (fresh.dataset.sound === "no") return; // the text is not sound at the moment: the last parts stay
    const focus = old.contains(document.activeElement) ? document.activeElement : null;
    const place = focus && "selectionStart" in focus ? [focus.selectionStart, focus.selectionEnd] : null;
    const scroll = byId("text")?.scrollTop;
    const open = [...old.querySelectorAll("details[open]")].map((one) => one.id);
    old.replaceWith(fresh);
    for (const one of open) byId(one)?.setAttribute("open", "");
    if (id === "text-block" && scroll) byId("text").scrollTop = scroll;
    if (!focus) return;
    const again = byId(focus.id) ?? byId(`part-${form.elements.part.value}`);
    again?.focus({ preventScroll: true });
    if (again && place && place[0] !== null && again.id === focus.id) {
      try { again.setSelectionRange(...place); } catch { /* the field has no text to choose from */ }
    }
  }

  function drawn() {
    const text = byId("text");
    const lines = wrongLines();
    const gutter = byId("gutter");
    const count = text.value.split("\n").length;
    gutter.replaceChildren(...Array.from({ length: count }, (_, i) => {
      const one = document.createElement("span");
      one.textContent = i + 1;
      if (lines.includes(i + 1)) one.className = "wrong-line";
      return one;
    }));
    gutter.scrollTop = text.scrollTop;
    text.toggleAttribute("aria-invalid", lines.length > 0);
    nameLine();
    document.dispatchEvent(new CustomEvent("drawn"));
  }

  // The lines with errors, and the one that the button leads to next.
  let nextLine = 0;
  function wrongLines() {
    return byId("bar").dataset.lines.split(" ").filter(Boolean).map(Number);
  }
  function nameLine() {
    const lines = wrongLines(), button = byId("to-line");
    if (nextLine >= lines.length) nextLine = 0;
    button.hidden = lines.length === 0;
    const which = lines.length > 1 ? `with an error, ${nextLine + 1} of ${lines.length}` : "where the error is";
    button.textContent = `Go to line ${lines[nextLine]}, ${which}`;
  }

  function goTo(line, focus) {
    const text = byId("text");
    const lines = text.value.split("\n");
    const begin = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    if (focus) text.focus();
    text.setSelectionRange(begin, begin + (lines[line - 1]?.length ?? 0));
    text.scrollTop = (line - 4) * (text.scrollHeight / lines.length);
  }

  // What is typed is sent after a short pause.
  let pause = 0;
  let pending = null;
  function typed(field) {
    if (pending && pending !== field) flush();
    pending = field;
    clearTimeout(pause);
    pause = setTimeout(flush, 300);
    if (field.id === "text") remember(field.value);
  }
  function flush() {
    clearTimeout(pause);
    const field = pending;
    pending = null;
    if (!field) return;
    if (field.closest("#placing")) send({ op: "show" }, field);
    else if (field.id === "text") send({ op: "text", text: field.value }, field);
    else if (field.name) send({ op: "set", [field.name]: field.value }, field);
  }
  function remember(text) {
    try { localStorage.setItem(kept, JSON.stringify({ text, seen: seen() })); } catch { /* no place: the queue has it */ }
  }
  function forget() {
    if (!pending) { try { localStorage.removeItem(kept); } catch { /* nothing was kept */ } }
  }
  function restore() {
    let found = null;
    try { found = JSON.parse(localStorage.getItem(kept)); } catch { /* nothing was kept */ }
    if (!found || found.text === byId("text").value) return;
    if (found.seen === seen()) {
      byId("text").value = found.text;
      send({ op: "text", text: found.text });
    } else {
      const old = document.createElement("textarea");
      Object.assign(old, { value: found.text, readOnly: true, rows: 8 });
      old.setAttribute("aria-label", "Text that was typed here and not sent");
      byId("sending").after(old);
      say("The file was changed elsewhere before the text below, which was typed here, could be sent.");
      forget();
    }
  }

  form.addEventListener("input", (event) => {
    if (event.target.matches("select")) return;
    if (event.target.closest("#search")) return;
    typed(event.target);
    if (event.target.id === "text") drawnGutterOnly();
  });
  function drawnGutterOnly() {
    const count = byId("text").value.split("\n").length;
    if (count !== byId("gutter").childElementCount) drawn();
  }
  form.addEventListener("change", (event) => {
    const field = event.target;
    if (!field.matches("select") || ["target", "example"].includes(field.id)) return;
    typed(field);
    flush();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const op = event.submitter?.value;
    flush();
    if (!op || ["set", "text", "place"].includes(op)) return; // Enter in a field
    const fields = { op };
    if (op === "connect") fields.target = form.elements.target.value;
    if (op === "add") fields.example = form.elements.example.value;
    send(fields);
  });
  form.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-part]");
    if (link) {
      event.preventDefault();
      choose(link.dataset.part);
      if (link.dataset.goto) goTo(Number(link.dataset.goto), false);
    }
    if (event.target.id === "to-line") {
      goTo(wrongLines()[nextLine], true);
      nextLine += 1;
      nameLine();
    }
    const search = event.target.closest("a[data-search]");
    if (search) {
      event.preventDefault();
      lookUp(search.dataset.search, search.dataset.for);
    }
  });
  form.addEventListener("scroll", (event) => {
    if (event.target.id === "text") byId("gutter").scrollTop = event.target.scrollTop;
  }, true);
  addEventListener("beforeunload", (event) => {
    flush();
    if (queue.length > 0) event.preventDefault();
  });

  function choose(part) {
    flush();
    form.elements.part.value = part;
    send({ op: "show", part });
  }

  // The hardware database beside the values of a part.
  async function lookUp(kind, target) {
    const box = byId("search");
    const label = document.createElement("label");
    const field = Object.assign(document.createElement("input"), { type: "search", id: "search-words" });
    const list = Object.assign(document.createElement("div"), { className: "found" });
    label.htmlFor = field.id;
    label.textContent = `Search among the ${kind}`;
    const close = Object.assign(document.createElement("button"), { type: "button", className: "plain" });
    close.textContent = "Close the search";
    box.replaceChildren(label, field, list, close);
    box.hidden = false;
    close.addEventListener("click", () => { box.hidden = true; byId(target)?.focus(); });
    const show = async () => {
      const answer = await fetch(`/hardware?${new URLSearchParams({ kind, words: field.value })}`);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const found = page.getElementById("found");
      found.removeAttribute("id");
      for (const cell of found.querySelectorAll("[data-name]")) {
        const use = Object.assign(document.createElement("button"), { type: "button", className: "plain" });
        use.textContent = `Use ${cell.dataset.name}`;
        use.addEventListener("click", () => {
          const input = byId(target);
          if (!input) return;
          input.value = cell.dataset.name;
          input.focus();
          typed(input);
          flush();
        });
        cell.replaceChildren(use);
      }
      list.replaceChildren(found);
    };
    let wait = 0;
    field.addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(show, 250); });
    field.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
    await show();
    field.focus();
  }

  // Undo and redo in the list of parts; text fields keep those of the browser.
  function shortcut(event) {
    const key = event.key.toLowerCase();
    if (!(event.ctrlKey || event.metaKey)) return false;
    const op = key === "z" ? (event.shiftKey ? "redo" : "undo") : { y: "redo", d: "copy" }[key];
    if (!op) return false;
    event.preventDefault();
    flush();
    send({ op });
    return true;
  }
  form.addEventListener("keydown", (event) => {
    if (event.target.matches("input, textarea, select")) return;
    if (shortcut(event)) return;
    if (event.key === "Delete" && event.target.matches("a[data-part]")) {
      event.preventDefault();
      send({ op: "delete", part: event.target.dataset.part });
    }
  });

  addEventListener("DOMContentLoaded", () => {
    document.documentElement.classList.add("scripted");
    drawn();
    restore();
  });
  return { send, choose, flush };
})();
