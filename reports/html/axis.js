// The stretch of time that charts of one axis show together.
class Axis {
  constructor() {
    this.least = Infinity;
    this.most = -Infinity;
    this.charts = [];
    this.hairline = null;
    this.asked = false;
  }

  // Widens what can be shown.
  hold(first, last) {
    this.least = Math.min(this.least, first);
    this.most = Math.max(this.most, last);
    this.fit();
  }

  fit() {
    this.show(this.least, this.most);
  }

  show(first, last) {
    const whole = this.most - this.least;
    const length = Math.min(whole, Math.max(last - first, Math.min(whole, 100)));
    first = Math.min(Math.max(first, this.least), this.most - length);
    this.first = first;
    this.last = first + length;
    this.draw();
  }

  // By `factor` of what is shown, `at` stays where it is.
  zoom(factor, at) {
    this.show(at - (at - this.first) * factor, at + (this.last - at) * factor);
  }

  pan(share) {
    const by = share * (this.last - this.first);
    this.show(this.first + by, this.last + by);
  }

  point(at) {
    this.hairline = at;
    this.draw();
  }

  // All charts, once, before the next frame.
  draw() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      for (const chart of this.charts) chart.draw();
    });
  }
}

const axes = new Map();
const axisNamed = (name) => {
  if (!axes.has(name)) axes.set(name, new Axis());
  return axes.get(name);
};
