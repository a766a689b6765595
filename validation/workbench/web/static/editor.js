// The editors of systems and applications: every change goes to the server at once, in order, and is kept there as a
// draft.  The answer has what changed: splices of the texts of the page's parts, and elements of the canvas.  Without
// this file the same form works with its buttons.
const editor = (() => {
  const form = document.getElementById("editor");
  const address = form.dataset.address;
  const kept = `draft:${location.origin}${address}`; // text that the server has not got yet
  const blocks = form.dataset.blocks.split(" ");
  const queue = [];
  const state = { text: "" }; // texts of the blocks and of the file, as the server knows that this page has them
  const stale = new Set(); // blocks that the page shows as they were
  const folds = { folded: new Set(), unfolded: new Set() }; // ids of levels
  let view = form.dataset.view;
  let busy = false;
  let timer = 0;

  const byId = (id) => document.getElementById(id);
  const seen = () => form.elements.seen.value;
  const parts = () => [form.elements.part.value, ...(form.elements.also?.value.split(" ") ?? [])].filter(Boolean);

  // Ask for a change.  `typing` is the field in which the user is; its part of the page is left alone.
  function send(fields, typing = null) {
    const same = queue.findIndex((one, i) => i > 0 && typing && one.typing === typing && one.fields.op === fields.op);
    if (same > 0) queue.splice(same, 1);
    queue.push({ fields, typing });
    next();
  }

  function context() {
    const found = { part: form.elements.part.value };
    if (form.elements.also) found.also = form.elements.also.value;
    for (const [name, ids] of Object.entries(folds)) if (ids.size > 0) found[name] = [...ids].join(" ");
    for (const field of form.querySelectorAll("#placing input, #placing select")) {
      if (field.name && field.value) found[field.name] = field.value;
    }
    return found;
  }

  async function next() {
    if (busy || queue.length === 0) return;
    busy = true;
    checking.abort();
    const { fields, typing } = queue[0];
    const around = { ...context(), ...fields };
    try {
      let answer;
      if (fields.op === "show") {
        delete around.op;
        answer = await fetch(`${address}?${new URLSearchParams(around)}`, { headers: { "x-editor": view } });
      } else {
        const token = form.elements.form_token.value;
        if (fields.op !== "text") byId("text").readOnly = true; // it is about to change
        const body = new URLSearchParams({ ...around, form_token: token, seen: seen() });
        answer = await fetch(address, { method: "POST", headers: { "x-editor": view }, body });
      }
      if (answer.status >= 500) {
        const why = pageOf(await answer.text()).querySelector(".error")?.textContent.trim() ?? "";
        again(`The server cannot keep it now. ${why} What you typed is kept here, and is sent again.`, 3000);
        return;
      }
      say("");
      queue.shift();
      await take(answer, typing, fields);
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
  const pageOf = (text) => new DOMParser().parseFromString(text, "text/html");

  async function take(answer, typing, fields) {
    if (!answer.headers.get("content-type").startsWith("application/json")) { // an error, or the list of files
      if (answer.redirected) location.assign(answer.url);
      else say(pageOf(await answer.text()).querySelector(".error, body")?.textContent.trim() || "Reload the page.");
      return;
    }
    const change = await answer.json();
    if (!answer.ok && String(change.stamp) !== seen()) { // somebody else changed the draft: what is here stays
      const [at, gone, came] = change.texts.message ?? [0, 0, ""];
      show("message", spliced(state.message ?? "", at, gone, came), typing);
      return;
    }
    view = change.view;
    for (const [name, [at, gone, came]] of Object.entries(change.texts)) {
      state[name] = spliced(state[name] ?? "", at, gone, came);
      if (name !== "text") stale.add(name);
    }
    if (!change.sound) for (const name of blocks) if (byId(name)?.dataset.sound) stale.delete(name); // the last ones stay
    settle(typing);
    keepAddress(change.part);
    if (fields.op?.startsWith("add") || fields.op === "copy") byId(`part-${change.part}`)?.scrollIntoView({ block: "nearest" });
    document.dispatchEvent(new CustomEvent("drawn", { detail: change.sound ? change.elements : null }));
    requestAnimationFrame(() => setTimeout(() => showText(typing))); // the canvas first: a long text takes longer
    if (!change.checked) checking.soon();
  }
  function spliced(old, at, gone, came) {
    return gone === null ? came : old.slice(0, at) + came + old.slice(at + gone);
  }
  function keepAddress(part) {
    const params = new URLSearchParams({ ...context(), part });
    if (params.get("policy") === byId("policy")?.options[0].value) params.delete("policy");
    for (const name of ["also", "folded", "unfolded"]) params.delete(name);
    history.replaceState(null, "", `${address}?${params}`);
  }

  // The check of a large draft, which comes after its change is drawn, and gives way to the next change.
  const checking = {
    wait: 0, under: null,
    abort() { clearTimeout(this.wait); this.under?.abort(); },
    soon() { this.abort(); this.wait = setTimeout(() => this.ask(), 150); },
    async ask() {
      if (busy || queue.length > 0) return;
      this.under = new AbortController();
      const before = view;
      try {
        const asked = `${address}?${new URLSearchParams({ ...context(), check: "1" })}`;
        const answer = await fetch(asked, { headers: { "x-editor": view }, signal: this.under.signal });
        if (answer.ok && view === before && !busy) await take(answer, document.activeElement, { op: "show" });
      } catch (error) {
        if (error.name !== "AbortError" && !(error instanceof TypeError)) throw error;
      }
    },
  };

  // Show the blocks that changed, except those in which the user types.
  function settle(typing) {
    for (const id of stale) if (show(id, state[id], typing)) stale.delete(id);
  }
  function inUse(element, typing) {
    return [typing, pending, ...queue.map((one) => one.typing)].some((field) => field && element.contains(field));
  }
  function show(id, html, typing) {
    const old = byId(id);
    if (!old) return true;
    const holder = document.createElement("template");
    holder.innerHTML = html;
    const fresh = holder.content.firstElementChild;
    if (inUse(old, typing)) { sayWrong(old, fresh); return false; }
    const focus = old.contains(document.activeElement) ? document.activeElement : null;
    const place = focus && "selectionStart" in focus ? [focus.selectionStart, focus.selectionEnd] : null;
    for (const one of old.querySelectorAll("details[open]")) fresh.querySelector(`[id="${one.id}"]`)?.setAttribute("open", "");
    old.replaceWith(fresh);
    if (!focus) return true;
    const then = byId(focus.id) ?? byId(`part-${form.elements.part.value}`);
    then?.focus({ preventScroll: true });
    if (then && place && place[0] !== null && then.id === focus.id) {
      try { then.setSelectionRange(...place); } catch { /* the field has no text to choose from */ }
    }
    return true;
  }
  // The errors of a block in which the user types.
  function sayWrong(old, fresh) {
    for (const field of fresh.querySelectorAll("input, select, textarea")) {
      for (const name of ["aria-invalid", "aria-describedby"]) {
        if (field.hasAttribute(name)) byId(field.id)?.setAttribute(name, field.getAttribute(name));
        else byId(field.id)?.removeAttribute(name);
      }
    }
    const said = fresh.querySelector("#part-error");
    old.querySelector("#part-error")?.remove();
    if (said) old.prepend(said);
  }
  function showText(typing) {
    const text = byId("text");
    if (!inUse(text, typing) && text.value !== state.text && queue.every(({ fields }) => fields.op !== "text")) {
      const { scrollTop, selectionStart, selectionEnd } = text;
      text.value = state.text;
      text.setSelectionRange(selectionStart, selectionEnd);
      text.scrollTop = scrollTop;
    }
    editorText.draw();
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
    else if (field.name) send({ op: "set", ...set(field) }, field);
  }
  function set(field) {
    const group = field.closest("[data-together]"); // fields that are one value
    const fields = group ? [...group.querySelectorAll("input, select, textarea")] : [field];
    return { part: form.elements.part.value, ...Object.fromEntries(fields.map((one) => [one.name, one.value])) };
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
    const field = event.target;
    if (field.matches("select") || field.closest("#search, .canvas-box")) return;
    typed(field);
    if (field.id === "text") editorText.draw();
  });
  form.addEventListener("change", (event) => {
    const field = event.target;
    if (!field.matches("select") || ["target", "example"].includes(field.id) || field.closest(".canvas-box")) return;
    typed(field);
    flush();
  });
  form.addEventListener("focusout", () => setTimeout(() => settle(document.activeElement), 0));
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
      const part = link.dataset.part;
      if ((event.ctrlKey || event.metaKey || event.shiftKey) && byId("canvas")) toggle(part);
      else choose(part);
      if (link.dataset.goto) editorText.goTo(Number(link.dataset.goto), false);
    }
    const search = event.target.closest("a[data-search]");
    if (search) {
      event.preventDefault();
      lookUp(search.dataset.search, search.dataset.for);
    }
  });
  addEventListener("beforeunload", (event) => {
    flush();
    if (queue.length > 0) event.preventDefault();
  });

  // Choose a part, and others beside it.
  function choose(part, also = []) {
    flush();
    const bar = byId("bar");
    form.elements.part.value = part;
    form.elements.also?.remove();
    if (also.length > 0) bar.append(Object.assign(document.createElement("input"), { type: "hidden", name: "also", value: also.join(" ") }));
    send({ op: "show", part, also: also.join(" ") });
  }
  function toggle(part) {
    const now = parts();
    if (now.includes(part) && now.length > 1) choose(...((left) => [left[0], left.slice(1)])(now.filter((one) => one !== part)));
    else if (!now.includes(part)) choose(now[0], [...now.slice(1), part]);
  }
  function fold(part, isFolded) {
    folds.folded[isFolded ? "add" : "delete"](part);
    folds.unfolded[isFolded ? "delete" : "add"](part);
    choose(part);
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
      const found = pageOf(await answer.text()).getElementById("found");
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

  // Undo and redo outside of text fields, which keep those of the browser; save everywhere.
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
    const key = event.key.toLowerCase();
    const typing = event.target.matches("input, textarea, select");
    let op = key === "s" ? "save" : null;
    if (!typing && form.contains(event.target)) op ??= key === "z" ? (event.shiftKey ? "redo" : "undo") : { y: "redo", d: "copy" }[key];
    if (!op) return;
    event.preventDefault();
    flush();
    send({ op });
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Delete" || !event.target.matches("a[data-part]")) return;
    event.preventDefault();
    send({ op: "delete", part: event.target.dataset.part, also: "" });
  });

  addEventListener("DOMContentLoaded", () => {
    document.documentElement.classList.add("scripted");
    for (const one of document.querySelectorAll("[data-with-script]")) one.hidden = false;
    state.text = byId("text").value;
    editorText.draw();
    restore();
  });
  return { send, choose, toggle, fold, flush, parts };
})();
