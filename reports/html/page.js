// Draws the charts of the page from the data that stand in it.
const unpacked = async (text) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
};

const start = async () => {
  for (const script of document.querySelectorAll("script.chart-data")) {
    const packed = script.type === "text/plain";
    const data = packed ? await unpacked(script.textContent) : JSON.parse(script.textContent);
    const figure = document.getElementById(script.dataset.chart);
    if (data.kind === "lanes") new LanesChart(figure, data);
    else new SeriesChart(figure, data);
  }
  const again = () => axes.forEach((axis) => axis.draw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  addEventListener("beforeprint", () => axes.forEach((axis) => {
    for (const chart of axis.charts) chart.draw();
  }));
  document.documentElement.dataset.drawn = "yes";
};
start();
