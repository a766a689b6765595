"use strict";
// Tables can be sorted by their headings, and long tables searched. Wide content fades at its right edge. Folded
// content is printed too.
(() => {
  const said = document.getElementById("said");
  const minus = "\u2212";

  const orderOf = (cell, numeric) => {
    if (!numeric) return cell.textContent.trim();
    if (cell.dataset.order !== undefined) return Number(cell.dataset.order);
    const value = parseFloat(cell.textContent.replaceAll(minus, "-").replaceAll(",", ""));
    return Number.isNaN(value) ? null : value; // missing values come last in both directions
  };

  const compare = (numeric, direction) => (a, b) => {
    if (a.order === null || b.order === null) return (a.order === null) - (b.order === null);
    const sign = numeric ? Math.sign(a.order - b.order) : a.order.localeCompare(b.order, "en", { numeric: true });
    return direction * sign || a.place - b.place;
  };

  const sort = (table, column, button) => {
    const heading = button.parentElement;
    const descending = heading.getAttribute("aria-sort") === "ascending";
    const numeric = heading.classList.contains("number");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row, place) => ({ row, place, order: orderOf(row.cells[column], numeric) }));
    rows.sort(compare(numeric, descending ? -1 : 1));
    body.append(...rows.map(({ row }) => row));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    said.textContent = `Sorted by ${button.textContent}, ${descending ? "descending" : "ascending"}.`;
  };

  const addSearch = (table) => {
    const label = document.createElement("label");
    const field = document.createElement("input");
    const count = document.createElement("span");
    label.className = "search";
    field.type = "search";
    label.append("Rows with ", field, count);
    table.parentElement.before(label);
    const rows = [...table.tBodies[0].rows];
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        shown += !row.hidden;
      }
      count.textContent = words.length ? ` ${shown} of ${rows.length}` : "";
      said.textContent = `${shown} of ${rows.length} rows.`;
    });
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => sort(table, column, button));
    });
    if ("search" in table.dataset) addSearch(table);
  }

  for (const box of document.querySelectorAll(".table-box, .picture")) {
    const mark = () => box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
    box.addEventListener("scroll", mark, { passive: true });
    new ResizeObserver(mark).observe(box);
  }

  const opened = [];
  addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details:not([open])")) {
      one.open = true;
      opened.push(one);
    }
  });
  addEventListener("afterprint", () => {
    for (const one of opened.splice(0)) one.open = false;
  });
})();
