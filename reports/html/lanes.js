// What ran when: a lane for each engine, a bar for each operation. Bars have the colour of their
// phase, which the topmost lane names.
const laneHeight = 19, groupGap = 7, timeHeight = 20;

class LanesChart extends Chart {
  constructor(figure, data) {
    super(figure, data, 0);
    this.place();
    this.index();
    this.phaseColours();
    this.axis.hold(data.first, data.last);
    this.chosen = -1;
    this.toolbar();
    this.says = document.createElement("div");
    this.says.className = "says";
    this.says.setAttribute("aria-live", "polite");
    figure.append(this.says);
    this.canvas.setAttribute("aria-label", data.title + ", " + data.start.length +
      " operations; comma and full stop go from one to the next");
    this.tell();
  }

  // Where each lane stands.
  place() {
    let y = 4, group = null;
    this.tops = this.data.lanes.map((lane) => {
      if (group !== null && lane.group !== group) y += groupGap;
      group = lane.group;
      y += laneHeight;
      return y - laneHeight;
    });
    this.height = y + timeHeight;
  }

  // The slices of each lane, in order, to find those in sight by halving.
  index() {
    this.byLane = this.data.lanes.map(() => []);
    for (let i = 0; i < this.data.lane.length; ++i) this.byLane[this.data.lane[i]].push(i);
  }

  phaseColours() {
    this.colourOf = new Map();
    for (const phase of this.data.phase)
      if (!this.colourOf.has(phase)) this.colourOf.set(phase, this.colourOf.size % 8);
  }

  toolbar() {
    const tools = document.createElement("div");
    tools.className = "tools";
    const button = (words, does) => {
      const one = document.createElement("button");
      one.type = "button";
      one.textContent = words;
      one.addEventListener("click", does);
      tools.append(one);
    };
    const middle = () => (this.axis.first + this.axis.last) / 2;
    button("Closer", () => this.axis.zoom(0.5, middle()));
    button("Further", () => this.axis.zoom(2, middle()));
    button("Whole step", () => this.axis.fit());
    const find = document.createElement("input");
    find.type = "search";
    find.placeholder = "Find an operation";
    find.setAttribute("aria-label", "Find an operation by its name");
    find.addEventListener("input", () => {
      this.wanted = find.value.toLowerCase();
      this.axis.draw();
    });
    find.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.find();
    });
    tools.append(find);
    const hint = document.createElement("span");
    hint.className = "hint";
    hint.textContent = "Drag to move; Ctrl and wheel, W and S, or a double click to zoom";
    tools.append(hint);
    this.canvas.before(tools);
  }

  // The next slice whose name holds what is looked for.
  find() {
    if (!this.wanted) return;
    const count = this.data.start.length;
    for (let step = 1; step <= count; ++step) {
      const i = (this.chosen + step + count) % count;
      if (!this.matches(i)) continue;
      const half = Math.max(20 * this.data.length[i], (this.axis.last - this.axis.first) / 8);
      this.axis.show(this.data.start[i] - half, this.data.start[i] + half);
      return this.choose(i);
    }
  }

  matches(i) {
    return this.data.names[this.data.name[i]].toLowerCase().includes(this.wanted);
  }

  // In `slices`, the first that ends after `at`.
  firstAfter(slices, at) {
    const {start, length} = this.data;
    let low = 0, high = slices.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (start[slices[middle]] + length[slices[middle]] < at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  draw() {
    const c = this.begin();
    this.drawTime(c, this.height - timeHeight);
    for (let lane = 0; lane < this.tops.length; ++lane) this.drawLane(c, lane);
    c.fillStyle = this.colours.paper;
    c.fillRect(0, 0, this.left - 1, this.height);
    this.drawTitles(c);
    if (this.chosen >= 0) this.drawChosen(c);
    this.drawHairline(c);
  }

  drawTitles(c) {
    c.textAlign = "left";
    let group = null;
    this.data.lanes.forEach((lane, i) => {
      const narrow = this.width < 520;
      const first = lane.group !== group && !narrow;
      group = lane.group;
      c.fillStyle = this.colours.ink;
      if (first) c.fillText(lane.group, 0, this.tops[i] + laneHeight / 2, 54);
      c.fillStyle = this.colours.soft;
      c.fillText(lane.title, narrow ? 0 : 58, this.tops[i] + laneHeight / 2,
        this.left - (narrow ? 4 : 62));
    });
  }

  drawLane(c, lane) {
    const {start, length, phase, name, names} = this.data;
    const slices = this.byLane[lane], top = this.tops[lane] + 2, height = laneHeight - 4;
    c.textAlign = "left";
    let drawn = -1;  // the last pixel that is full
    for (let k = this.firstAfter(slices, this.axis.first); k < slices.length; ++k) {
      const i = slices[k];
      if (start[i] > this.axis.last) break;
      const from = Math.max(this.left, this.x(start[i]));
      const to = Math.min(this.width, this.x(start[i] + length[i]));
      if (to <= drawn) continue;
      const wide = Math.max(to - from, 0.8);
      drawn = Math.max(to, Math.floor(from) + 0.8);
      const dim = this.wanted && !this.matches(i);
      c.globalAlpha = dim ? 0.18 : 1;
      c.fillStyle = this.colours.areas[this.colourOf.get(phase[i])];
      c.fillRect(from, top, wide > 3 ? wide - 0.6 : wide, height);
      if (wide > 34) this.label(c, names[name[i]], from + 3, top + height / 2 + 0.5, wide - 6);
    }
    c.globalAlpha = 1;
  }

  label(c, text, x, y, room) {
    const wide = c.measureText(text).width;
    if (wide > room) {
      const letters = Math.floor(text.length * room / wide) - 1;
      if (letters < 3) return;
      text = text.slice(0, letters) + "\u2026";
    }
    c.fillStyle = "#000";
    c.fillText(text, x, y);
  }

  box(i) {
    const {start, length, lane} = this.data;
    const from = this.x(start[i]), to = this.x(start[i] + length[i]);
    return {from, to: Math.max(to, from + 2), top: this.tops[lane[i]] + 2,
            middle: this.tops[lane[i]] + laneHeight / 2};
  }

  // The slice, what it waited for, and where its data were stored.
  drawChosen(c) {
    c.save();
    c.beginPath();
    c.rect(this.left, 0, this.width - this.left, this.height);
    c.clip();
    const mine = this.box(this.chosen);
    const frame = (box, colour) => {
      c.strokeStyle = colour;
      c.lineWidth = 2;
      c.strokeRect(box.from, box.top, box.to - box.from, laneHeight - 4);
    };
    const arrow = (box, dashes, colour) => {
      c.setLineDash(dashes);
      c.strokeStyle = colour;
      c.lineWidth = 1.6;
      c.beginPath();
      c.moveTo(box.to, box.middle);
      const bend = Math.max(14, Math.abs(mine.from - box.to) / 2);
      c.bezierCurveTo(box.to + bend, box.middle, mine.from - bend, mine.middle, mine.from,
        mine.middle);
      c.stroke();
      c.setLineDash([]);
    };
    const {after, from} = this.data;
    if (after[this.chosen] >= 0) {
      frame(this.box(after[this.chosen]), this.colours.warn);
      arrow(this.box(after[this.chosen]), [], this.colours.warn);
    }
    if (from[this.chosen] >= 0) arrow(this.box(from[this.chosen]), [4, 3], this.colours.accent);
    frame(mine, this.colours.ink);
    c.restore();
  }

  hover(x, y) {
    super.hover(x);
    const lane = this.tops.findIndex((top) => y >= top && y < top + laneHeight);
    if (lane < 0 || x < this.left) return;
    const slices = this.byLane[lane], at = this.at(x), near = this.at(x + 3) - at;
    const {start, length} = this.data;
    let found = -1, best = near;
    for (let k = this.firstAfter(slices, at - near); k < slices.length; ++k) {
      const i = slices[k];
      if (start[i] > at + near) break;
      const far = Math.max(start[i] - at, at - start[i] - length[i], 0);
      if (far < best || (far === 0 && found < 0)) {
        found = i;
        best = far;
      }
    }
    if (found >= 0) this.choose(found);
  }

  // The next slice of the lane, or the one before.
  step(by) {
    const lane = this.chosen < 0 ? 0 : this.data.lane[this.chosen];
    const slices = this.byLane[lane];
    const next = this.chosen < 0 ? 0 : slices.indexOf(this.chosen) + by;
    if (next < 0 || next >= slices.length) return;
    this.choose(slices[next]);
    const {start, length} = this.data, i = this.chosen;
    const half = (this.axis.last - this.axis.first) / 2;
    if (start[i] < this.axis.first || start[i] + length[i] > this.axis.last)
      this.axis.show(start[i] - half, start[i] + half);
  }

  choose(i) {
    this.chosen = i;
    this.tell();
    this.axis.draw();
  }

  nameOf(i) {
    const lane = this.data.lanes[this.data.lane[i]];
    return this.data.names[this.data.name[i]] + " (" + lane.group + ", " + lane.title + ")";
  }

  // What the chosen slice is, in words.
  tell() {
    const i = this.chosen, d = this.data;
    if (i < 0) {
      this.says.textContent = "Point at an operation to read what it is and what it waited for.";
      return;
    }
    const phase = d.names[d.phase[i]];
    let text = this.nameOf(i) + ", " + timeWords(d.length[i]) + " from " +
      timeWords(d.start[i]) + (phase ? ", in " + phase : "") + ".";
    if (d.bytes[i] > 0) {
      text += " " + byteWords(d.bytes[i]);
      if (d.length[i] > 0) text += " at " + byteWords(d.bytes[i] / d.length[i] * 1e9) + "/s";
      text += ".";
    }
    const after = d.after[i];
    if (d.waited[i] > 0) {
      text += " It waited " + timeWords(d.waited[i]);
      text += after >= 0 ? " for " + this.nameOf(after) + "." : ".";
    } else if (after >= 0) {
      text += " It began when " + this.nameOf(after) + " ended.";
    }
    if (d.from[i] >= 0) text += " It moves what " + this.nameOf(d.from[i]) + " left.";
    this.says.textContent = text;
  }
}
