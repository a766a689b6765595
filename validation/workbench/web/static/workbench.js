// Parts of a page that follow the queue: the server says when it has changed, and htmx asks for the part again.
const part = document.querySelector("[data-events]");
if (part) {
  const events = new EventSource(part.dataset.events);
  events.addEventListener("message", () => htmx.trigger(part, "changed"));
  const said = document.getElementById("connection");
  events.addEventListener("open", () => { said.hidden = true; });
  events.addEventListener("error", () => { said.hidden = false; });
}
