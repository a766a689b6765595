// Names that an expression may use, offered below its field while one of them is typed.
(() => {
  const WORD = /[\p{L}_][\p{L}\p{N}_]*$/u;
  const list = Object.assign(document.createElement("ul"), { id: "completion", className: "completion", hidden: true });
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Names that fit");
  let field = null;
  let at = 0; // the name that the arrows have chosen

  function word() { return field.value.slice(0, field.selectionStart).match(WORD)?.[0] ?? ""; }
  function offer(target) {
    field = target;
    const begun = word().toLowerCase();
    const known = [...document.querySelectorAll("#names [data-name]")];
    const fit = begun === "" ? [] : known.filter((one) => one.dataset.name.toLowerCase().startsWith(begun) && one.dataset.name !== word());
    at = 0;
    list.replaceChildren(...fit.slice(0, 8).map((one, number) => {
      const entry = Object.assign(document.createElement("li"), { id: `completion-${number}` });
      entry.setAttribute("role", "option");
      entry.dataset.name = one.dataset.name;
      const said = Object.assign(document.createElement("span"), { className: "soft", textContent: one.textContent });
      entry.append(`${one.dataset.name} `, said);
      return entry;
    }));
    list.hidden = fit.length === 0;
    field.setAttribute("aria-expanded", String(!list.hidden));
    if (list.hidden) { field.removeAttribute("aria-activedescendant"); return; }
    field.setAttribute("role", "combobox");
    field.setAttribute("aria-autocomplete", "list");
    field.setAttribute("aria-controls", "completion");
    field.after(list);
    list.style.top = `${field.offsetTop + field.offsetHeight}px`;
    choose(0);
  }
  function choose(number) {
    at = (number + list.childElementCount) % list.childElementCount;
    [...list.children].forEach((one, i) => one.setAttribute("aria-selected", String(i === at)));
    field.setAttribute("aria-activedescendant", `completion-${at}`);
  }
  function take(name) {
    const end = field.selectionStart, begin = end - word().length;
    field.setRangeText(name, begin, end, "end");
    close();
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    close();
  }
  function close() {
    list.hidden = true;
    field?.setAttribute("aria-expanded", "false");
    field?.removeAttribute("aria-activedescendant");
  }
  document.addEventListener("input", (event) => { if (event.isTrusted && event.target.matches("[data-names]")) offer(event.target); });
  document.addEventListener("focusout", () => { if (field) close(); });
  list.addEventListener("mousedown", (event) => {
    event.preventDefault(); // the field keeps the focus
    const name = event.target.closest("[data-name]")?.dataset.name;
    if (name) take(name);
  });
  document.addEventListener("keydown", (event) => {
    if (list.hidden || event.target !== field) return;
    if (event.key === "ArrowDown") choose(at + 1);
    else if (event.key === "ArrowUp") choose(at - 1);
    else if (event.key === "Enter" || event.key === "Tab") take(list.children[at].dataset.name);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  }, true);
})();
