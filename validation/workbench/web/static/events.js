// The one stream of events of a browser: all its pages that are visible follow the queue through this shared worker.
const RETRY_MS = 5000;
const pages = new Set();
let stream = null, latest = null, retry = 0;

function tell(message) {
  for (const page of pages) page.postMessage(message);
}

function close() {
  clearTimeout(retry);
  if (stream) stream.close();
  stream = latest = null;
}

function open() {
  stream = new EventSource("/queue/events");
  stream.addEventListener("open", () => tell({connected: true}));
  stream.addEventListener("message", (event) => { latest = event.data; tell({count: latest}); });
  stream.addEventListener("error", () => {
    tell({connected: false});
    if (stream.readyState === EventSource.CLOSED) {  // the browser does not try again by itself
      close();
      retry = setTimeout(() => { if (pages.size) open(); }, RETRY_MS);
    }
  });
}

self.addEventListener("connect", (event) => {
  const page = event.ports[0];
  page.addEventListener("message", ({data}) => {
    if (data !== "watch") {
      pages.delete(page);
      if (!pages.size) close();
      return;
    }
    pages.add(page);
    if (latest !== null) page.postMessage({count: latest});
    if (!stream) { clearTimeout(retry); open(); }
  });
  page.start();
});
