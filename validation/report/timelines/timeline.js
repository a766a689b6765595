"use strict";
// A timeline with data (validation/report/timelines/intervals.py) is drawn on a canvas instead of its picture: each pixel mixes the
// activities in its time.  Dragging, the buttons or the keys zoom and move; the values under the mouse stand beside it.
(() => {
  const units = [["s", 1], ["ms", 1e-3], ["\u00b5s", 1e-6], ["ns", 1e-9]];
  const pale = 0.3; // opacity of neighbouring iterations
  const mostClusters = 12; // that are named
  const leastTicks = 20; // the finest view
  const dark = matchMedia("(prefers-color-scheme: dark)");

  const element = (kind, name, text = "") => {
    const made = document.createElement(kind);
    made.className = name;
    made.textContent = text;
    return made;
  };

  const unitOf = (length) => units.find(([, one]) => length >= one) || units[units.length - 1];

  const amount = (value, step) => value.toFixed(Math.max(0, Math.min(6, Math.ceil(-Math.log10(step)))));

  const colorOf = (activity) => {
    const variable = `--c-${activity.color.slice(1)}`;
    const text = getComputedStyle(document.documentElement).getPropertyValue(variable).trim() || activity.color;
    return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  };

  // Number of edges up to this time, minus one: the interval that holds it.
  const intervalAt = (edges, time) => {
    let low = 0;
    let high = edges.length - 1;
    while (low < high - 1) {
      const middle = (low + high) >> 1;
      if (edges[middle] <= time) low = middle;
      else high = middle;
    }
    return low;
  };

  class Timeline {
    constructor(figure, data) {
      this.data = data;
      this.rows = data.rows.map((row) => {
        const edges = [row.begin];
        for (const lasts of row.lasts) edges.push(edges[edges.length - 1] + lasts);
        return { ...row, edges };
      });
      this.from = 0;
      this.to = data.span;
      this.build(figure);
      figure.classList.add("live");
      new ResizeObserver(() => this.draw()).observe(this.plot);
      dark.addEventListener("change", () => this.draw());
    }

    build(figure) {
      const box = element("div", "timeline");
      const bar = element("div", "timeline-bar");
      this.keys = this.data.activities.map((activity, place) => {
        const used = this.rows.some((row) => row.mix.some((mix) => this.data.mixes[mix][place] > 0));
        const key = element("span", "timeline-key", activity.name);
        const patch = key.insertBefore(element("span", "timeline-patch"), key.firstChild);
        if (used) bar.append(key);
        return patch;
      });
      const buttons = bar.appendChild(element("span", "timeline-buttons"));
      for (const [sign, title, act] of [
        ["+", "Zoom in", () => this.zoom(0.5)],
        ["\u2212", "Zoom out", () => this.zoom(2)],
        ["\u2190", "Earlier", () => this.move(-0.5)],
        ["\u2192", "Later", () => this.move(0.5)],
        ["Whole", "Whole time", () => this.show(0, this.data.span)],
      ]) {
        const button = element("button", "", sign);
        button.type = "button";
        button.title = title;
        button.setAttribute("aria-label", title);
        button.addEventListener("click", act);
        buttons.append(button);
      }
      this.names = element("div", "timeline-names");
      this.clusters = element("div", "timeline-clusters");
      this.plot = element("div", "timeline-plot");
      this.canvas = element("canvas", "");
      this.canvas.tabIndex = 0;
      this.canvas.setAttribute("role", "img");
      this.canvas.setAttribute("aria-label", `${figure.querySelector("title").textContent}; + and \u2212 zoom, arrows move`);
      this.marked = element("div", "timeline-marked");
      this.said = element("div", "timeline-said");
      this.axis = element("div", "timeline-axis");
      this.marked.hidden = this.said.hidden = true;
      this.plot.append(this.canvas, this.marked, this.said);
      const height = Math.min(440, Math.max(96, 15 * this.rows.length));
      this.plot.style.height = `${height}px`;
      const body = element("div", "timeline-body");
      body.append(this.names, this.plot, this.clusters, this.axis);
      box.append(bar, body);
      figure.prepend(box);
      this.nameRows(height);
      this.listen();
    }

    nameRows(height) {
      const step = Math.ceil((14 * this.rows.length) / height);
      const parts = []; // neighbours of the same cluster
      this.rows.forEach((row, place) => {
        if (place % step === 0) this.nameAt(this.names, row.name.replace(/^(ranks? \d+).*/s, "$1"), place + 0.5);
        const last = parts[parts.length - 1];
        if (last && last.cluster === row.cluster) last.end = place + 1;
        else parts.push({ cluster: row.cluster, begin: place, end: place + 1 });
      });
      if (parts.length < 2 || parts.length > mostClusters) return;
      for (const { cluster, begin, end } of parts) {
        this.nameAt(this.clusters, cluster, (begin + end) / 2);
        if (!begin) continue;
        const line = this.plot.appendChild(element("div", "timeline-line"));
        line.style.top = `${(100 * begin) / this.rows.length}%`;
      }
    }

    nameAt(column, text, row) {
      const name = column.appendChild(element("span", "", text));
      name.style.top = `${(100 * row) / this.rows.length}%`;
    }

    listen() {
      const keys = {
        "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), ArrowLeft: () => this.move(-0.25),
        ArrowRight: () => this.move(0.25), Home: () => this.show(0, this.data.span),
      };
      this.canvas.addEventListener("keydown", (event) => {
        if (!(event.key in keys) || event.ctrlKey || event.altKey || event.metaKey) return;
        event.preventDefault();
        keys[event.key]();
      });
      this.canvas.addEventListener("pointerdown", (event) => {
        this.dragged = event.offsetX;
        this.canvas.setPointerCapture(event.pointerId);
      });
      this.canvas.addEventListener("pointermove", (event) => this.point(event));
      this.canvas.addEventListener("pointerup", (event) => this.drop(event));
      this.canvas.addEventListener("pointercancel", () => this.leave());
      this.canvas.addEventListener("pointerleave", () => this.leave());
      this.canvas.addEventListener("dblclick", () => this.show(0, this.data.span));
      this.canvas.addEventListener("wheel", (event) => {
        if (!event.ctrlKey) return; // otherwise the page scrolls
        event.preventDefault();
        this.zoom(event.deltaY < 0 ? 0.8 : 1.25, this.timeAt(event.offsetX));
      }, { passive: false });
    }

    timeAt(x) {
      return this.from + ((this.to - this.from) * x) / this.plot.clientWidth;
    }

    show(from, to) {
      const length = Math.min(this.data.span, Math.max(leastTicks, to - from));
      this.from = Math.min(Math.max(0, from), this.data.span - length);
      this.to = this.from + length;
      this.leave();
      this.draw();
    }

    zoom(factor, around = (this.from + this.to) / 2) {
      this.show(around - (around - this.from) * factor, around + (this.to - around) * factor);
    }

    move(share) {
      const by = (this.to - this.from) * share;
      this.show(this.from + by, this.to + by);
    }

    drop(event) {
      const from = this.dragged;
      this.leave();
      if (from === null || Math.abs(event.offsetX - from) < 4) return;
      this.show(this.timeAt(Math.min(from, event.offsetX)), this.timeAt(Math.max(from, event.offsetX)));
    }

    leave() {
      this.dragged = null;
      this.marked.hidden = this.said.hidden = true;
    }

    point(event) {
      const x = Math.min(Math.max(0, event.offsetX), this.plot.clientWidth - 1);
      const place = Math.floor((event.offsetY / this.plot.clientHeight) * this.rows.length);
      const row = this.rows[Math.min(Math.max(0, place), this.rows.length - 1)];
      const dragging = this.dragged !== null && Math.abs(x - this.dragged) >= 4;
      const left = dragging ? Math.min(x, this.dragged) : x;
      this.marked.style.left = `${left}px`;
      this.marked.style.width = `${dragging ? Math.abs(x - this.dragged) : 1}px`;
      this.said.replaceChildren(...this.explain(row, x).map((line) => element("div", "", line)));
      this.marked.hidden = this.said.hidden = false;
      const beside = x + 12 + this.said.offsetWidth <= this.plot.clientWidth ? x + 12 : x - 12 - this.said.offsetWidth;
      this.said.style.left = `${Math.max(0, Math.min(beside, this.plot.clientWidth - this.said.offsetWidth))}px`;
      this.said.style.top = `${Math.min(event.offsetY + 16, this.plot.clientHeight + 8)}px`;
    }

    // Lines on what is under the mouse: one interval, or the shares of those in a pixel.
    explain(row, x) {
      const [from, to] = [this.timeAt(x), this.timeAt(x + 1)];
      const shares = this.shares(row, from, to, 1);
      const first = intervalAt(row.edges, from);
      const last = intervalAt(row.edges, to);
      const single = first === last && row.edges[first] <= from && row.edges[first + 1] >= to;
      const [begin, end] = single ? [row.edges[first], row.edges[first + 1]] : [from, to];
      const tick = this.data.tick_s;
      const [unit, scale] = unitOf((this.to - this.from) * tick);
      const step = ((this.to - this.from) * tick) / scale / 1000;
      const [own, ownScale] = unitOf((end - begin) * tick);
      const times = [begin, end].map((one) => amount((one * tick) / scale, step));
      const lasts = Number((((end - begin) * tick) / ownScale).toPrecision(3));
      const named = this.data.activities.map(({ name }, place) => [name, (100 * shares[place]) / (to - from)]);
      const present = named.filter(([, share]) => share >= 0.5);
      const alone = single && present.length === 1 && present[0][1] >= 99.5;
      const what = alone ? [present[0][0]] : present.map(([name, share]) => `${share.toFixed(0)} % ${name}`);
      const outside = (begin + end) / 2 < row.own[0] || (begin + end) / 2 > row.own[1] ? [", another iteration"] : [""];
      return [row.name + outside, ...(what.length ? what : ["outside the timed section"]),
        `${times[0]} to ${times[1]} ${unit}: ${lasts} ${own}`];
    }

    // Time of each activity in each of `count` equal parts, in ticks.
    shares(row, from, to, count) {
      const kinds = this.data.activities.length;
      const spent = new Float64Array(count * kinds);
      const part = (to - from) / count;
      const { edges } = row;
      for (let at = intervalAt(edges, from); at < edges.length - 1 && edges[at] < to; at++) {
        const begin = Math.max(from, edges[at]);
        const end = Math.min(to, edges[at + 1]);
        if (end <= begin) continue;
        const mix = this.data.mixes[row.mix[at]];
        const last = Math.min(count - 1, Math.floor((end - from) / part));
        for (let bin = Math.floor((begin - from) / part); bin <= last; bin++) {
          const inside = Math.min(end, from + (bin + 1) * part) - Math.max(begin, from + bin * part);
          if (inside > 0) for (let kind = 0; kind < kinds; kind++) spent[bin * kinds + kind] += (inside * mix[kind]) / 100;
        }
      }
      return spent;
    }

    draw() {
      const width = Math.round(this.plot.clientWidth * devicePixelRatio);
      if (!width) return; // not shown, as on paper
      const kinds = this.data.activities.length;
      const colors = this.data.activities.map(colorOf);
      this.keys.forEach((patch, place) => { patch.style.background = `rgb(${colors[place].join(" ")})`; });
      const part = (this.to - this.from) / width;
      this.canvas.width = width;
      this.canvas.height = this.rows.length;
      const context = this.canvas.getContext("2d");
      const image = context.createImageData(width, this.rows.length);
      this.rows.forEach((row, place) => {
        const spent = this.shares(row, this.from, this.to, width);
        for (let x = 0; x < width; x++) {
          let whole = 0;
          const mixed = [0, 0, 0];
          for (let kind = 0; kind < kinds; kind++) {
            const time = spent[x * kinds + kind];
            whole += time;
            for (let channel = 0; channel < 3; channel++) mixed[channel] += time * colors[kind][channel];
          }
          const middle = this.from + (x + 0.5) * part;
          const own = middle >= row.own[0] && middle <= row.own[1] ? 1 : pale;
          const at = 4 * (place * width + x);
          for (let channel = 0; channel < 3; channel++) image.data[at + channel] = whole ? mixed[channel] / whole : 0;
          image.data[at + 3] = 255 * own * Math.min(1, whole / part);
        }
      });
      context.putImageData(image, 0, 0);
      this.drawAxis();
    }

    drawAxis() {
      const tick = this.data.tick_s;
      const [unit, scale] = unitOf((this.to - this.from) * tick);
      const [from, to] = [(this.from * tick) / scale, (this.to * tick) / scale];
      const rough = (to - from) / Math.max(2, this.plot.clientWidth / 70);
      const power = 10 ** Math.floor(Math.log10(rough));
      const step = power * [1, 2, 5, 10].find((one) => one * power >= rough);
      const labels = [];
      for (let at = Math.ceil(from / step); at * step <= to * (1 + 1e-12); at++) {
        const label = element("span", "", amount(at * step, step));
        label.style.left = `${(100 * (at * step - from)) / (to - from)}%`;
        labels.push(label);
      }
      const title = element("div", "timeline-title", `time since the first rank began, ${unit}`);
      this.axis.replaceChildren(...labels, title);
    }
  }

  for (const script of document.querySelectorAll("script.timeline-data")) {
    new Timeline(script.closest("figure"), JSON.parse(script.textContent));
  }
})();
