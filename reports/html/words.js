"use strict";
// Numbers and times in words, as the rest of the page says them.

const short = (value) => {
  const size = Math.abs(value);
  return value === 0 ? "0" : value.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
};

const inUnits = (value, step, units) => {
  let at = 0;
  while (at + 1 < units.length && Math.abs(value) >= step) {
    value /= step;
    ++at;
  }
  return short(value) + "\u00a0" + units[at];
};

const memoryWords = (bytes) => inUnits(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
const byteWords = (bytes) => inUnits(bytes, 1000, ["B", "kB", "MB", "GB", "TB", "PB"]);

// Of nanoseconds.
const timeWords = (ns) =>
  ns === 0 ? "0\u00a0s" :
  Math.abs(ns) >= 599.5e9 ? inUnits(ns / 60e9, 60, ["min", "h"]) :
  inUnits(ns, 1000, ["ns", "us", "ms", "s"]);

// As view::Quantity is named.
const quantityWords = (value, quantity) =>
  quantity === "memory" ? memoryWords(value) : quantity === "bytes" ? byteWords(value) :
  quantity === "rate" ? byteWords(value) + "/s" :
  quantity === "share" ? short(100 * value) + "\u00a0%" :
  short(value);

// Round numbers between `first` and `last`, at most `most` of them; round in GiB where bytes are
// said so.
const ticks = (first, last, most, quantity) => {
  if (quantity === "memory") {
    const unit = 1024 ** Math.floor(Math.log(Math.max(last, 1)) / Math.log(1024));
    return ticks(first / unit, last / unit, most).map((value) => value * unit);
  }
  const rough = (last - first) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((times) => power * times >= rough);
  const all = [];
  for (let at = Math.ceil(first / step) * step; at <= last; at += step) all.push(at);
  return all;
};
