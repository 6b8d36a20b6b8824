// The curve of the estimated accuracy with its interval, drawn as SVG.

const WIDTH = 320;
const HEIGHT = 150;
const LEFT = 42; // for "100 %"
const BOTTOM = 20;
const TOP = 8;
const RIGHT = 8;

function draw(parent, tag, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

// Points are [number of labels, accuracy, lower bound, upper bound]; without any, there is the scale alone.
export function drawCurve(box, points) {
  box.replaceChildren();
  const last = points.at(-1);
  const svg = draw(box, "svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    role: "img",
    "aria-label": last
      ? `Estimated accuracy from ${points[0][0]} to ${last[0]} labels, now ${Math.round(100 * last[1])} per cent`
      : "No estimate yet",
  });
  const low = Math.max(0, Math.floor(10 * Math.min(...points.map((point) => point[2]), last ? 1 : 0)) / 10);
  const y = (share) => TOP + ((1 - share) / (1 - low || 1)) * (HEIGHT - TOP - BOTTOM);
  const step = 1 - low > 0.55 ? 0.2 : 0.1;
  for (let share = 1; share >= low - 1e-9; share -= step) {
    draw(svg, "line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(share), y2: y(share) });
    draw(svg, "text", { x: LEFT - 5, y: y(share) + 4, "text-anchor": "end" }, `${Math.round(100 * share)} %`);
  }
  if (!last) return;
  const from = points[0][0];
  const to = Math.max(last[0], from + 1);
  const x = (n) => LEFT + ((n - from) / (to - from)) * (WIDTH - LEFT - RIGHT);
  draw(svg, "text", { x: LEFT, y: HEIGHT - 4 }, String(from));
  draw(svg, "text", { x: WIDTH - RIGHT, y: HEIGHT - 4, "text-anchor": "end" }, `${to} labels`);
  const upper = points.map(([n, , , high]) => `${x(n)},${y(high)}`);
  const lower = points.map(([n, , bound]) => `${x(n)},${y(bound)}`).reverse();
  draw(svg, "polygon", { class: "band", points: [...upper, ...lower].join(" ") });
  draw(svg, "polyline", { class: "line", points: points.map(([n, share]) => `${x(n)},${y(share)}`).join(" ") });
  draw(svg, "circle", { class: "dot", cx: x(last[0]), cy: y(last[1]), r: 3.5 });
}
