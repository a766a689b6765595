// Parts of a page that follow the queue: the server says when it has changed, and htmx asks for the part again.
// A page follows it while it is visible.  Browsers without shared workers have a stream for each visible page.
const part = document.querySelector("[data-events]");
if (part) {
  const said = document.getElementById("connection");
  let seen = null;
  const hear = (message) => {
    if ("connected" in message) said.hidden = message.connected;
    if ("count" in message && message.count !== seen) {
      seen = message.count;
      htmx.trigger(part, "changed");
    }
  };
  let watch, leave;
  if (window.SharedWorker) {
    const port = new SharedWorker("/static/events.js").port;
    port.addEventListener("message", (event) => hear(event.data));
    port.start();
    watch = () => port.postMessage("watch");
    leave = () => port.postMessage("leave");
  } else {
    let stream = null;
    watch = () => {
      if (stream) return;
      stream = new EventSource(part.dataset.events);
      stream.addEventListener("open", () => hear({connected: true}));
      stream.addEventListener("message", (event) => hear({count: event.data}));
      stream.addEventListener("error", () => hear({connected: false}));
    };
    leave = () => { if (stream) stream.close(); stream = null; };
  }
  const follow = () => document.visibilityState === "visible" ? watch() : leave();
  document.addEventListener("visibilitychange", follow);
  window.addEventListener("pagehide", leave);
  window.addEventListener("pageshow", follow);
}
