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
