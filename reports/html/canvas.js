// A canvas in a figure, its colours, and the hands on it: wheel, drag, pinch and keys.

const palette = () => {
  const style = getComputedStyle(document.documentElement);
  const named = (name) => style.getPropertyValue("--" + name).trim();
  return {
    paper: named("paper"), ink: named("ink"), soft: named("soft"), line: named("line"),
    shade: named("shade"), accent: named("accent"), warn: named("warn"),
    areas: [0, 1, 2, 3, 4, 5, 6, 7].map((i) => named("c" + i)),
  };
};

class Chart {
  constructor(figure, data, height) {
    this.figure = figure;
    this.data = data;
    this.axis = axisNamed(data.axis);
    this.canvas = document.createElement("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.height = height;
    figure.append(this.canvas);
    this.context = this.canvas.getContext("2d");
    this.axis.charts.push(this);
    this.listen();
    new ResizeObserver(() => this.axis.draw()).observe(this.canvas);
  }

  // Lanes' titles and scales stand to the left of this.
  get left() { return this.width < 520 ? 74 : 132; }

  x(at) {
    return this.left +
      (at - this.axis.first) / (this.axis.last - this.axis.first) * (this.width - this.left);
  }

  at(x) {
    return this.axis.first +
      (x - this.left) / (this.width - this.left) * (this.axis.last - this.axis.first);
  }

  // A clean canvas of the figure's width, in pixels of the page.
  begin() {
    const dots = window.devicePixelRatio || 1;
    this.width = this.figure.clientWidth;
    const width = Math.round(this.width * dots), height = Math.round(this.height * dots);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.canvas.style.height = this.height + "px";
    }
    const c = this.context;
    c.setTransform(dots, 0, 0, dots, 0, 0);
    this.colours = palette();
    c.fillStyle = this.colours.paper;
    c.fillRect(0, 0, this.width, this.height);
    c.font = "11px " + getComputedStyle(document.body).fontFamily;
    c.textBaseline = "middle";
    return c;
  }

  drawTime(c, y) {
    c.textAlign = "center";
    const all = ticks(this.axis.first, this.axis.last, (this.width - this.left) / 110);
    for (const at of all) {
      const x = this.x(at);
      c.fillStyle = this.colours.line;
      c.fillRect(Math.round(x), 0, 1, y);
      c.fillStyle = this.colours.soft;
      const half = c.measureText(timeWords(at)).width / 2;
      c.fillText(timeWords(at), Math.min(Math.max(x, this.left + half), this.width - half), y + 9);
    }
  }

  drawHairline(c) {
    if (this.axis.hairline === null) return;
    const x = this.x(this.axis.hairline);
    if (x < this.left) return;
    c.fillStyle = this.colours.ink;
    c.fillRect(Math.round(x), 0, 1, this.height - 18);
  }

  listen() {
    const canvas = this.canvas, axis = this.axis, fingers = new Map();
    let dragged = 0;
    canvas.addEventListener("wheel", (event) => {
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (!sideways && !event.ctrlKey && !event.altKey) return;
      event.preventDefault();
      if (sideways) axis.pan(event.deltaX / this.width);
      else axis.zoom(Math.exp(event.deltaY * 0.003), this.at(event.offsetX));
    }, {passive: false});
    canvas.addEventListener("pointerdown", (event) => {
      fingers.set(event.pointerId, event.offsetX);
      canvas.setPointerCapture(event.pointerId);
      dragged = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!fingers.has(event.pointerId)) return this.hover(event.offsetX, event.offsetY);
      const before = [...fingers.values()];
      const moved = event.offsetX - fingers.get(event.pointerId);
      fingers.set(event.pointerId, event.offsetX);
      dragged += Math.abs(moved);
      if (fingers.size === 1) return axis.pan(-moved / (this.width - this.left));
      const now = [...fingers.values()];
      const middle = this.at((now[0] + now[1]) / 2);
      const apart = Math.max(10, Math.abs(now[0] - now[1]));
      axis.zoom(Math.max(10, Math.abs(before[0] - before[1])) / apart, middle);
    });
    const lifted = (event) => {
      if (fingers.delete(event.pointerId) && dragged < 4) this.hover(event.offsetX, event.offsetY);
    };
    canvas.addEventListener("pointerup", lifted);
    canvas.addEventListener("pointercancel", lifted);
    canvas.addEventListener("pointerleave", () => axis.point(null));
    canvas.addEventListener("dblclick", (event) => axis.zoom(0.4, this.at(event.offsetX)));
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const middle = (this.axis.first + this.axis.last) / 2;
    const does = {
      w: () => this.axis.zoom(0.7, middle), "+": () => this.axis.zoom(0.7, middle),
      s: () => this.axis.zoom(1.4, middle), "-": () => this.axis.zoom(1.4, middle),
      a: () => this.axis.pan(-0.2), ArrowLeft: () => this.axis.pan(-0.2),
      d: () => this.axis.pan(0.2), ArrowRight: () => this.axis.pan(0.2),
      f: () => this.axis.fit(), ".": () => this.step(1), ",": () => this.step(-1),
    }[event.key];
    if (!does) return;
    event.preventDefault();
    does();
  }

  hover(x) {
    this.axis.point(x < this.left ? null : this.at(x));
  }

  step() {}
}
