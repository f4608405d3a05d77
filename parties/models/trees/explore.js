// Lets a tree's picture be moved and zoomed: by pointer, fingers, wheel, keys, and the buttons of a page beside it. Only the
// viewBox changes. It is the same script in an SVG document of its own and in a page, and shows all of the tree first.
"use strict";

(() => {
  const LARGEST = 4; // times life size
  const MARGIN = 0.9; // of the view may be beyond the tree's edge
  const LEGIBLE = 26; // pixels that a node is high where the reading begins

  class View {
    constructor(svg) {
      this.svg = svg;
      const { x, y, width, height } = svg.viewBox.baseVal;
      this.whole = { x, y, width, height };
      this.box = { ...this.whole };
      this.pointers = new Map();
      this.alone = svg === document.documentElement;
      this.listen();
    }

    // How many units of the tree one pixel is.
    get scale() {
      return Math.max(this.box.width / this.svg.clientWidth, this.box.height / this.svg.clientHeight);
    }

    show(box) {
      const keep = (at, size, from, all) => Math.min(Math.max(at, from - MARGIN * size), from + all - (1 - MARGIN) * size);
      this.box = { ...box, x: keep(box.x, box.width, this.whole.x, this.whole.width), y: keep(box.y, box.height, this.whole.y, this.whole.height) };
      this.svg.setAttribute("viewBox", [this.box.x, this.box.y, this.box.width, this.box.height].join(" "));
    }

    all() {
      this.show(this.whole);
    }

    // What is around the root, in letters that can be read.
    root() {
      const node = this.svg.querySelector(".question")?.getBBox();
      if (!node) return this.all();
      const unit = node.height / LEGIBLE;
      const [width, height] = [this.svg.clientWidth * unit, this.svg.clientHeight * unit];
      const inside = (middle, size, from, all) => size > all ? from + (all - size) / 2 : Math.min(Math.max(middle - size / 2, from), from + all - size);
      const x = inside(node.x + node.width / 2, width, this.whole.x, this.whole.width);
      const y = inside(node.y + node.height / 2, height, this.whole.y, this.whole.height);
      this.show({ x, y, width, height });
    }

    // The point of the tree under a pixel of the window, or the middle of what is shown.
    point(at) {
      const { x, y, width, height } = this.box;
      if (!at) return { x: x + width / 2, y: y + height / 2 };
      return new DOMPoint(at.x, at.y).matrixTransform(this.svg.getScreenCTM().inverse());
    }

    // Larger by a factor; what is at `at` stays there.
    zoom(by, at) {
      const { x, y, width, height } = this.box;
      const most = this.scale * LARGEST; // then a unit is LARGEST pixels
      const factor = Math.max(Math.min(by, most), width / this.whole.width / 1.5);
      const fixed = this.point(at);
      this.show({ x: fixed.x - (fixed.x - x) / factor, y: fixed.y - (fixed.y - y) / factor, width: width / factor, height: height / factor });
    }

    // By so many pixels.
    move(across, down) {
      this.show({ ...this.box, x: this.box.x + across * this.scale, y: this.box.y + down * this.scale });
    }

    listen() {
      const keys = {
        ArrowLeft: () => this.move(-60, 0),
        ArrowRight: () => this.move(60, 0),
        ArrowUp: () => this.move(0, -60),
        ArrowDown: () => this.move(0, 60),
        "+": () => this.zoom(1.3),
        "-": () => this.zoom(1 / 1.3),
        0: () => this.all(),
      };
      (this.alone ? document : this.svg).addEventListener("keydown", (event) => {
        if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        keys[event.key]();
      });
      // In a page the wheel is the page's until the tree is clicked: nobody should be caught in it while scrolling by.
      this.svg.addEventListener("wheel", (event) => {
        if (!this.alone && document.activeElement !== this.svg) return;
        event.preventDefault();
        this.zoom(2 ** (-event.deltaY / 400), event);
      }, { passive: false });
      this.svg.addEventListener("pointerdown", (event) => {
        this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
        this.svg.setPointerCapture(event.pointerId);
        if (!this.alone) this.svg.focus({ preventScroll: true });
      });
      this.svg.addEventListener("pointermove", (event) => this.drag(event));
      for (const end of ["pointerup", "pointercancel"]) {
        this.svg.addEventListener(end, (event) => this.pointers.delete(event.pointerId));
      }
      this.svg.addEventListener("dblclick", () => this.all());
      const actions = { in: () => this.zoom(1.4), out: () => this.zoom(1 / 1.4), all: () => this.all(), root: () => this.root() };
      const figure = this.svg.closest("figure");
      for (const button of figure ? figure.querySelectorAll("[data-zoom]") : []) {
        button.addEventListener("click", actions[button.dataset.zoom]);
      }
      for (const hidden of figure ? figure.querySelectorAll("[hidden]") : []) hidden.hidden = false;
    }

    // One pointer moves the tree; the distance of two zooms it.
    drag(event) {
      const last = this.pointers.get(event.pointerId);
      if (!last) return;
      const now = { x: event.clientX, y: event.clientY };
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
      if (other) {
        const apart = (one) => Math.max(Math.hypot(one.x - other.x, one.y - other.y), 1);
        this.zoom(apart(now) / apart(last), { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 });
      } else {
        this.move(last.x - now.x, last.y - now.y);
      }
      this.pointers.set(event.pointerId, now);
    }
  }

  function explore() {
    for (const svg of document.querySelectorAll("svg.tree-picture:not([data-explored])")) {
      svg.dataset.explored = "";
      new View(svg);
    }
  }

  document.addEventListener("changed", explore);
  explore();
})();
