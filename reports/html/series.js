// Amounts over time, stacked, with the line that they may not cross.
class SeriesChart extends Chart {
  constructor(figure, data) {
    super(figure, data, 150);
    this.sum();
    this.legend();
    this.canvas.setAttribute("aria-label", data.title + ", at most " + this.words(this.peak));
  }

  words(value) { return quantityWords(value, this.data.quantity); }

  // The value of a curve at a time: that of the last sample before it.
  value(curve, at) {
    let low = 0, high = curve.at.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (curve.at[middle] <= at) low = middle + 1;
      else high = middle;
    }
    return low > 0 ? curve.value[low - 1] : 0;
  }

  total(at) {
    return this.data.curves.reduce((sum, curve) => sum + this.value(curve, at), 0);
  }

  // The largest total, and when it is.
  sum() {
    const changes = [];
    for (const curve of this.data.curves)
      curve.at.forEach((at, i) => {
        changes.push([at, curve.value[i] - (i ? curve.value[i - 1] : 0)]);
      });
    changes.sort((a, b) => a[0] - b[0]);
    this.peak = 0;
    this.peakAt = 0;
    let now = 0;
    changes.forEach(([at, by], i) => {
      now += by;
      if (i + 1 < changes.length && changes[i + 1][0] === at) return;
      if (now > this.peak) [this.peak, this.peakAt] = [now, at];
    });
    const limit = this.data.limit;
    this.limited = limit !== null && limit <= 4 * this.peak;
    this.top = 1.06 * Math.max(this.peak, this.limited ? limit : 0) || 1;
  }

  legend() {
    const list = document.createElement("ul");
    list.className = "legend";
    this.amounts = this.data.curves.map((curve, i) => {
      const item = document.createElement("li");
      const swatch = document.createElement("div");
      swatch.className = "swatch c" + i % 8;
      const amount = document.createElement("span");
      item.append(swatch, curve.label + " ", amount);
      list.append(item);
      return amount;
    });
    this.figure.append(list);
  }

  y(value) { return 4 + (this.height - 26) * (1 - value / this.top); }

  draw() {
    const c = this.begin(), floor = this.height - 22;
    this.drawTime(c, floor);
    c.textAlign = "right";
    for (const value of ticks(0, this.top, 4, this.data.quantity)) {
      c.fillStyle = this.colours.soft;
      c.fillText(this.words(value), this.left - 6, Math.max(7, this.y(value)));
    }
    const below = new Float64Array(Math.max(1, Math.ceil(this.width - this.left)));
    this.data.curves.forEach((curve, i) => this.area(c, curve, i, below));
    this.line(c, this.peak, this.peakAt);
    this.tell();
    this.drawHairline(c);
  }

  // For each pixel the most of what the curve has there, on top of those below it.
  area(c, curve, number, below) {
    const tops = new Float64Array(below.length);
    const perPixel = (this.axis.last - this.axis.first) / below.length;
    let k = 0;
    for (let x = 0; x < below.length; ++x) {
      const end = this.axis.first + (x + 1) * perPixel;
      let most = k > 0 ? curve.value[k - 1] : 0;
      for (; k < curve.at.length && curve.at[k] < end; ++k)
        most = x === 0 && curve.at[k] < this.axis.first ? curve.value[k] :
          Math.max(most, curve.value[k]);
      tops[x] = below[x] + most;
    }
    c.beginPath();
    c.moveTo(this.left, this.y(below[0]));
    for (let x = 0; x < tops.length; ++x) {
      c.lineTo(this.left + x, this.y(tops[x]));
      c.lineTo(this.left + x + 1, this.y(tops[x]));
    }
    for (let x = tops.length - 1; x >= 0; --x) {
      c.lineTo(this.left + x + 1, this.y(below[x]));
      c.lineTo(this.left + x, this.y(below[x]));
    }
    c.fillStyle = this.colours.areas[number % 8];
    c.fill();
    c.save();
    c.clip();
    this.hatch(c, number % 8);
    c.restore();
    this.name(c, curve.label, below, tops);
    below.set(tops);
  }

  // The same patterns as in the bars, for who sees no hues.
  hatch(c, number) {
    if (number === 0 || number === 2) return;
    const down = number % 2 === 1, step = down ? 9 : 8;
    c.strokeStyle = down ? "rgb(255 255 255 / 40%)" : "rgb(0 0 0 / 25%)";
    c.lineWidth = down ? 2 : 1.5;
    c.beginPath();
    for (let x = this.left - this.height; x < this.width + this.height; x += step) {
      c.moveTo(x, down ? 0 : this.height);
      c.lineTo(x + this.height, down ? this.height : 0);
    }
    c.stroke();
  }

  // In the area, where it is highest over the whole word, if there is room.
  name(c, label, below, tops) {
    const wide = Math.ceil(c.measureText(label).width + 8);
    let best = 0, at = -1, low = 0;
    for (let x = 0; x + wide < tops.length; x += 4) {
      let roof = Infinity, floor = 0;
      for (let k = x; k < x + wide; k += 3) {
        roof = Math.min(roof, tops[k]);
        floor = Math.max(floor, below[k]);
      }
      if (roof - floor > best) [best, at, low] = [roof - floor, x, floor];
    }
    if (at < 0 || this.y(low) - this.y(low + best) < 15) return;
    const x = this.left + at, y = (this.y(low) + this.y(low + best)) / 2;
    c.fillStyle = this.colours.paper;
    c.globalAlpha = 0.82;
    c.fillRect(x, y - 7, wide, 14);
    c.globalAlpha = 1;
    c.fillStyle = this.colours.ink;
    c.textAlign = "left";
    c.fillText(label, x + 4, y);
  }

  // The limit across, and where the peak is.
  line(c, peak, at) {
    c.textAlign = "right";
    if (this.limited) {
      const y = this.y(this.data.limit);
      c.strokeStyle = this.colours.warn;
      c.setLineDash([6, 4]);
      c.lineWidth = 1.5;
      c.beginPath();
      c.moveTo(this.left, y);
      c.lineTo(this.width, y);
      c.stroke();
      c.setLineDash([]);
      c.fillStyle = this.colours.warn;
      c.fillText(this.data.limit_label + " " + this.words(this.data.limit), this.width - 2, y + 8);
    }
    const x = this.x(at);
    if (x < this.left || x > this.width) return;
    c.fillStyle = this.colours.ink;
    c.beginPath();
    c.moveTo(x, this.y(peak));
    c.lineTo(x - 4, this.y(peak) - 6);
    c.lineTo(x + 4, this.y(peak) - 6);
    c.fill();
  }

  // The legend says what is there under the pointer, else at the peak.
  tell() {
    const at = this.axis.hairline === null ? this.peakAt : this.axis.hairline;
    this.data.curves.forEach((curve, i) => {
      this.amounts[i].textContent = this.words(this.value(curve, at));
    });
  }
}
