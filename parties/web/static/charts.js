// Draws every element with data-figure. Plotly is loaded when there is something to draw. A tree can be moved and zoomed
// by hand, by its buttons and by the keyboard; its texts grow and shrink with it.
"use strict";

(() => {
  const INCH = 96; // pixels, at scale 1
  const POINT = INCH / 72;
  const READABLE = 0.65; // a tree that would be smaller than this
  const FIRST_SCALE = 0.8; // is shown at this scale first, from its root on
  const SMALLEST_TEXT = 4.5; // pixels; smaller ones are left out
  const FONT = '"DejaVu Sans", Verdana, sans-serif'; // for which the layout has measured the texts
  const CONFIG = { displayModeBar: false, doubleClick: false, showTips: false, scrollZoom: true };
  const redraw = []; // of everything drawn, when the colours of the page change
  let loading = null;

  function plotly() {
    loading ??= new Promise((resolve, reject) => {
      const create = document.createElement;
      const script = document.createElement("script");
      script.src = "/static/plotly.min.js";
      // While it loads, plotly adds a style sheet for maps, which the page's policy forbids and nothing here needs.
      document.createElement = (name, ...rest) => create.call(document, name === "style" ? "template" : name, ...rest);
      script.onload = () => {
        delete document.createElement;
        resolve();
      };
      script.onerror = () => reject(new Error("the script that draws charts does not load"));
      document.head.append(script);
    });
    return loading;
  }

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  function themed(layout) {
    return {
      ...layout,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: FONT, size: 12, color: colour("ink") },
      hoverlabel: { align: "left", bgcolor: colour("paper"), bordercolor: colour("muted"), font: { family: FONT, size: 13, color: colour("ink") } },
    };
  }

  // ---- bars

  function bars(place, figure) {
    const draw = () => {
      const axes = { gridcolor: colour("rule"), linecolor: colour("rule"), zerolinecolor: colour("rule") };
      const { xaxis, yaxis } = figure.layout;
      const layout = themed({ ...figure.layout, xaxis: { ...xaxis, ...axes }, yaxis: { ...yaxis, ...axes }, height: figure.pixels, width: place.clientWidth });
      return Plotly.react(place, figure.data, layout, { ...CONFIG, scrollZoom: false });
    };
    new ResizeObserver(() => Plotly.relayout(place, { width: place.clientWidth })).observe(place);
    redraw.push(draw);
    return draw();
  }

  // ---- trees

  class Tree {
    constructor(place, figure) {
      Object.assign(this, { place, figure });
      this.texts = figure.data.flatMap((trace, i) => (figure.points[trace.meta] ? [i] : []));
    }

    get size() {
      return { width: this.place.clientWidth, height: this.height };
    }

    // The largest scale, up to life size, at which the tree has room.
    fitting(width, height = Infinity) {
      return Math.min(1, width / INCH / (this.figure.width + 0.3), height / INCH / (this.figure.height + 0.3));
    }

    // The middle and scale at which all of the tree is in view.
    whole() {
      const { width, height } = this.size;
      return { x: this.figure.width / 2, y: this.figure.height / 2, scale: this.fitting(width, height) };
    }

    // What is seen first: all of the tree, or its beginning at a size that can be read.
    begin() {
      const readable = Math.max(this.fitting(this.place.clientWidth), FIRST_SCALE);
      const natural = (this.figure.height + 0.3) * INCH * readable;
      this.height = Math.round(Math.max(160, Math.min(natural, 0.75 * window.innerHeight, 800)));
      this.view = this.whole();
      if (this.view.scale >= READABLE) return;
      const [x, y] = this.figure.start;
      const first = (pixels) => pixels / INCH / readable / 2 - 0.15; // the middle of a view that starts at the tree's edge
      const hangs = y < 0.5;
      const scale = readable;
      this.view = hangs ? { x, y: first(this.size.height), scale } : { x: first(this.size.width), y, scale };
    }

    ranges() {
      const { x, y, scale } = this.view;
      const [across, down] = [this.size.width, this.size.height].map((pixels) => pixels / INCH / scale / 2);
      return { x: [x - across, x + across], y: [y + down, y - down] };
    }

    fonts() {
      const sizes = this.texts.map((i) => this.figure.points[this.figure.data[i].meta] * POINT * this.view.scale);
      return { "textfont.size": sizes.map((size) => Math.max(size, 1)), visible: sizes.map((size) => size >= SMALLEST_TEXT) };
    }

    draw() {
      const paint = {
        branch: () => ({ line: { width: 1.2, color: colour("branch") } }),
        paper: () => ({ fillcolor: colour("paper"), line: { width: 0 } }),
        value: () => ({ textfont: { color: colour("muted") } }),
        question: () => ({ fillcolor: colour("box"), line: { width: 1, color: colour("branch") } }),
        class: (trace) => ({ line: { width: 0, color: trace.fillcolor } }),
        name: (trace) => ({ textfont: { color: trace.textfont.color.map((ink) => ink || colour("ink")) } }),
        node: () => ({}),
      };
      const data = this.figure.data.map((trace) => ({ ...trace, ...paint[trace.meta](trace) }));
      const { "textfont.size": sizes, visible } = this.fonts();
      this.texts.forEach((i, k) => {
        data[i].textfont.size = sizes[k];
        data[i].visible = visible[k];
      });
      const { x, y } = this.ranges();
      const { xaxis, yaxis } = this.figure.layout;
      const axes = { xaxis: { ...xaxis, range: x }, yaxis: { ...yaxis, range: y } };
      return Plotly.react(this.place, data, themed({ ...this.figure.layout, ...this.size, ...axes }), CONFIG);
    }

    async show(view) {
      this.view = { ...view, scale: Math.min(4, Math.max(view.scale, 0.02)) };
      const { x, y } = this.ranges();
      await Plotly.update(this.place, this.fonts(), { "xaxis.range": x, "yaxis.range": y, ...this.size }, this.texts);
    }

    zoom(by) {
      return this.show({ ...this.view, scale: this.view.scale * by });
    }

    move(across, down) {
      const step = 60 / INCH / this.view.scale;
      return this.show({ ...this.view, x: this.view.x + across * step, y: this.view.y + down * step });
    }

    // Takes over where the pointer has moved or zoomed to.
    follow() {
      const { xaxis, yaxis } = this.place.layout;
      const middle = (range) => (range[0] + range[1]) / 2;
      const scale = this.size.width / INCH / Math.abs(xaxis.range[1] - xaxis.range[0]);
      const zoomed = Math.abs(scale / this.view.scale - 1) > 1e-3;
      this.view = { x: middle(xaxis.range), y: middle(yaxis.range), scale };
      if (zoomed) Plotly.restyle(this.place, this.fonts(), this.texts);
    }

    listen() {
      const keys = {
        ArrowLeft: () => this.move(-1, 0),
        ArrowRight: () => this.move(1, 0),
        ArrowUp: () => this.move(0, -1),
        ArrowDown: () => this.move(0, 1),
        "+": () => this.zoom(1.3),
        "-": () => this.zoom(1 / 1.3),
        0: () => this.show(this.whole()),
      };
      this.place.addEventListener("keydown", (event) => {
        if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        keys[event.key]();
      });
      // The wheel is the page's until the tree is clicked: nobody should be caught in it while scrolling by.
      const unlessActive = (event) => document.activeElement === this.place || event.stopPropagation();
      this.place.addEventListener("wheel", unlessActive, { capture: true });
      this.place.addEventListener("pointerdown", () => this.place.focus({ preventScroll: true }), { capture: true });
      this.place.on("plotly_relayout", () => this.follow());
      this.place.on("plotly_doubleclick", () => this.show(this.whole()));
      new ResizeObserver(() => {
        if (this.place.clientWidth) this.show(this.view);
      }).observe(this.place);
      const actions = { in: () => this.zoom(1.4), out: () => this.zoom(1 / 1.4), all: () => this.show(this.whole()) };
      const box = this.place.parentElement;
      for (const button of box.querySelectorAll("[data-zoom]")) {
        button.addEventListener("click", actions[button.dataset.zoom]);
      }
      for (const hidden of box.querySelectorAll(".tools, figcaption")) hidden.hidden = false;
    }
  }

  async function tree(place, figure) {
    const drawing = new Tree(place, figure);
    drawing.begin();
    redraw.push(() => drawing.draw());
    await drawing.draw();
    drawing.listen();
  }

  // ---- all

  async function draw(place) {
    place.dataset.drawn = "begun";
    try {
      const answer = await fetch(place.dataset.figure);
      if (!answer.ok) throw new Error(`the node answers ${answer.status}`);
      const figure = await answer.json();
      await plotly();
      await (figure.points ? tree : bars)(place, figure);
      place.dataset.drawn = "done";
    } catch (error) {
      place.textContent = `This picture cannot be drawn: ${error.message}.`;
    }
  }

  function drawNew() {
    for (const place of document.querySelectorAll("[data-figure]:not([data-drawn])")) draw(place);
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraw.forEach((again) => again()));
  document.addEventListener("changed", drawNew);
  drawNew();
})();
