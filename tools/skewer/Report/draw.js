"use strict";
// Draws what the page's data says. Everything is made with createElement and textContent: texts are never markup.
const data = JSON.parse(document.getElementById("data").textContent);

function make(tag, attributes, ...children) {
  const node = tag.startsWith("svg:") ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4))
                                      : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  for (const child of children.flat()) node.append(child);
  return node;
}
const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function amount(value, units) {
  if (!value) return "0 " + units[0];
  let k = 0;
  while (Math.abs(value) >= 1000 && k + 1 < units.length) value /= 1000, ++k;
  return (Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 10 ? value.toFixed(1) : value.toPrecision(3)) + " " + units[k];
}
const bytes = value => amount(value, ["B", "KB", "MB", "GB", "TB"]);
const flops = value => value ? amount(value, ["FLOP", "KFLOP", "MFLOP", "GFLOP", "TFLOP"]) : "not counted";
const time = seconds => seconds >= 1 ? amount(seconds, ["s"]) : seconds >= 1e-3 ? amount(seconds * 1e3, ["ms"]) : amount(seconds * 1e6, ["µs"]);

// Dark to light with even steps of lightness (the ends and three points of the viridis map).
const stops = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
function colour(share) {
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1), k = Math.min(Math.floor(at), stops.length - 2);
  return "rgb(" + stops[k].map((low, c) => Math.round(low + (stops[k + 1][c] - low) * (at - k))).join(",") + ")";
}

// A grid of cells on a canvas with ticks and the names of its axes. `cell(y, x)` gives a colour, or null where it is masked.
function grid(id, vertical, horizontal, cell, tell, across = 1) {
  const rows = vertical.positions.length, columns = horizontal.positions.length, side = 448, left = 64, top = 44;
  // `across`: how much wider than high a cell is.
  const size = Math.min(side / Math.max(rows, columns * across), 44), wide = size * across;
  // The name of the vertical axis stands upright beside the cells; of few rows it is longer than they are high.
  const upright = vertical.name.length * 6.4 + 8, middle = Math.max(top + rows * size / 2, upright / 2);
  const width = left + columns * wide + 12, height = Math.max(top + rows * size + 12, middle + upright / 2);
  const canvas = make("canvas", {id, width: Math.ceil(width * 2), height: Math.ceil(height * 2)});
  canvas.style.width = width + "px";
  const output = make("output", {id: id + "-says"});
  const draw = (markY, markX) => {
    const pen = canvas.getContext("2d");
    pen.setTransform(2, 0, 0, 2, 0, 0);
    pen.clearRect(0, 0, width, height);
    for (let y = 0; y < rows; ++y)
      for (let x = 0; x < columns; ++x) {
        const fill = cell(y, x);
        pen.fillStyle = fill || style("--ground");
        // To the next cell's edge in whole pixels of the canvas: no seams.
        const x0 = Math.round((left + x * wide) * 2) / 2, y0 = Math.round((top + y * size) * 2) / 2;
        const x1 = Math.round((left + (x + 1) * wide) * 2) / 2, y1 = Math.round((top + (y + 1) * size) * 2) / 2;
        pen.fillRect(x0, y0, x1 - x0, y1 - y0);
        if (fill) continue;
        pen.strokeStyle = style("--soft");
        pen.lineWidth = 0.5;
        pen.beginPath();
        pen.moveTo(x0, y1), pen.lineTo(x1, y0);
        pen.stroke();
      }
    pen.strokeStyle = pen.fillStyle = style("--ink");
    pen.lineWidth = 1;
    pen.strokeRect(left, top, columns * wide, rows * size);
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "center";
    for (let x = 0; x < columns; x += Math.max(1, Math.ceil(34 / wide))) pen.fillText(horizontal.positions[x], left + (x + 0.5) * wide, top - 5);
    pen.fillText(horizontal.name, left + columns * wide / 2, top - 24);
    pen.textAlign = "right";
    for (let y = 0; y < rows; y += Math.max(1, Math.ceil(30 / size))) pen.fillText(vertical.positions[y], left - 5, top + (y + 0.5) * size + 4);
    pen.save();
    pen.translate(14, middle);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "center";
    pen.fillText(vertical.name, 0, 0);
    pen.restore();
    if (markY === undefined) return;
    pen.strokeStyle = style("--mark");
    pen.lineWidth = 2;
    pen.strokeRect(left + markX * wide, top + markY * size, wide, size);
  };
  const show = (y, x) => {
    output.replaceChildren(...[tell(y, x)].flat());
    draw(y, x);
  };
  canvas.addEventListener("mousemove", event => {
    const box = canvas.getBoundingClientRect(), scale = width / box.width;
    const x = Math.floor(((event.clientX - box.left) * scale - left) / wide), y = Math.floor(((event.clientY - box.top) * scale - top) / size);
    if (x >= 0 && x < columns && y >= 0 && y < rows) show(y, x);
  });
  canvas.addEventListener("mouseleave", () => { output.replaceChildren(); draw(); });
  canvas.showCell = show;
  canvas.middleOf = (y, x) => [left + (x + 0.5) * wide, top + (y + 0.5) * size]; // in pixels of the page
  draw();
  return [canvas, output];
}

const sampled = axis => axis.positions.length < axis.all ? `${axis.positions.length} of ${axis.all}` : "";
function sampling(vertical, horizontal) {
  const parts = [sampled(vertical) && sampled(vertical) + " down", sampled(horizontal) && sampled(horizontal) + " across"].filter(Boolean);
  return parts.length ? [make("p", {class: "soft"}, "drawn: " + parts.join(", ") + ", evenly spaced")] : [];
}
function bar(low, high, hides) {
  const gradient = "linear-gradient(to right," + stops.map(rgb => `rgb(${rgb.join(",")})`).join(",") + ")";
  return make("div", {class: "legend"}, String(low), make("span", {class: "bar", style: "background:" + gradient}), String(high),
              !hides ? [] : [make("span", {class: "box", style: "background:linear-gradient(to top right, transparent 45%, currentColor 45%, currentColor 55%, transparent 55%)"}), "masked"]);
}

function skewPanel(skew, id) {
  const all = skew.rows.flat().filter(row => row !== null), low = Math.min(...all), high = Math.max(...all);
  const share = row => high > low ? (row - low) / (high - low) : 0.5;
  const name = skew.title.split("[")[0];
  const tell = (y, x) => {
    const row = skew.rows[y][x], pair = `query ${skew.queries.positions[y]}, key ${skew.keys.positions[x]}`;
    if (row === null) return `${pair}: masked, nothing is read`;
    // The same row is read along a line: how often is what a band shares.
    const same = all.filter(other => other === row).length;
    return [make("b", {}, skew.what.startsWith("row") ? `${pair} reads row ${row} of ${name}` : `${pair}: ${row}`),
            ` — so do ${same - 1} other of the ${all.length} pairs drawn`];
  };
  return make("div", {class: "card skew"}, make("h3", {}, skew.title), make("p", {class: "soft"}, "each cell: " + skew.what),
              grid(id, skew.queries, skew.keys, (y, x) => skew.rows[y][x] === null ? null : colour(share(skew.rows[y][x])), tell),
              all.length ? bar(low, high, all.length < skew.rows.flat().length) : "every pair is masked", sampling(skew.queries, skew.keys));
}

function mapPanel(map, id) {
  const finite = map.values.flat().filter(value => typeof value === "number"), low = Math.min(...finite), high = Math.max(...finite);
  // By the logarithm over four decades: a row has one weight of 1 or thousands of small ones.
  const least = map.logarithmic && high > 0 ? Math.max(low, high * 1e-4) : low;
  const linear = value => high > low ? (value - low) / (high - low) : 0.5;
  const logarithm = value => value > least && high > least ? Math.log(value / least) / Math.log(high / least) : 0;
  const share = value => typeof value !== "number" ? (value === "inf" ? 1 : 0) : map.logarithmic && high > 0 ? logarithm(value) : linear(value);
  const short = value => typeof value === "number" ? Number(value.toPrecision(6)) : value;
  const tell = (y, x) => {
    const value = map.values[y][x];
    return `${map.vertical.name} ${map.vertical.positions[y]}, ${map.horizontal.name} ${map.horizontal.positions[x]}: ` +
           (value === null ? "masked" : short(value));
  };
  return make("div", {class: "card map"}, make("h3", {}, map.title), make("p", {class: "soft"}, map.caption),
              grid(id, map.vertical, map.horizontal, (y, x) => map.values[y][x] === null ? null : colour(share(map.values[y][x])), tell),
              finite.length ? bar((least > low ? "≤ " : "") + short(least), short(high) + (map.logarithmic ? ", by the logarithm" : ""), map.values.flat().includes(null)) : "no number here", sampling(map.vertical, map.horizontal));
}

function tilesPanel(tiles, counts, id) {
  const colours = {".": null, "+": colour(0.45), "#": colour(0.8)}, words = {".": "dead: no query sees a key, nothing is computed", "+": "at an edge: some pairs are hidden", "#": "full: no test in the loop"};
  const axis = (name, all, cell, count) => ({name, all: count, positions: Array.from({length: count}, (_, k) => k * cell)});
  const rows = tiles.states.length, columns = tiles.states[0].length;
  const several = tiles.cell_queries > tiles.tile_queries || tiles.cell_keys > tiles.tile_keys;
  const text = `tiles of ${tiles.tile_queries} queries by ${tiles.tile_keys} keys` + (several ? `; a cell is ${tiles.cell_queries} by ${tiles.cell_keys}` : "");
  const total = counts ? counts.dead + counts.edge + counts.full : 0;
  const share = counts && total ? `${counts.full} full, ${counts.edge} at an edge, ${counts.dead} dead of ${total}: ${(100 * counts.not_computed / total).toFixed(0)} % are not computed` : "";
  const box = (fill, label) => [make("span", {class: "box", style: fill ? "background:" + fill : ""}), label];
  return make("div", {class: "card tiles"}, make("h3", {}, "the mask's tiles"), make("p", {class: "soft"}, text),
              grid(id, axis("query", tiles.queries, tiles.cell_queries, rows), axis("key", tiles.keys, tiles.cell_keys, columns),
                   (y, x) => colours[tiles.states[y][x]],
                   (y, x) => `queries from ${y * tiles.cell_queries}, keys from ${x * tiles.cell_keys}: ${words[tiles.states[y][x]]}`, tiles.cell_keys / tiles.cell_queries),
              make("div", {class: "legend"}, box(colours["#"], "full"), box(colours["+"], "edge"), box(null, "dead")), make("p", {class: "soft"}, share));
}

function specCard(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  return make("div", {class: "card spec"}, make("pre", {}, lines.map((line, k) =>
    make("span", {class: "line", "data-number": k + 1}, make("span", {class: "number"}, String(k + 1)), line + "\n"))));
}
function light(line) {
  for (const span of document.querySelectorAll("pre .line")) span.classList.toggle("lit", span.dataset.number === String(line));
}

// A shape, whose leading dimension may be known at run time alone.
const shapeText = (shape, sizes) => "[" + shape.map(n => n >= 0 ? n : sizes.length === 1 ? sizes[0] : "?").join(", ") + "]";

function termsCard(attention, sizes) {
  const head = make("tr", {}, ["term", "class", "strategy", "work of a head", "line"].map(text => make("th", {}, text)));
  const rows = attention.terms.map(term => {
    const lineInSpec = (term.calls.at(-1) || term).line; // of the call, where a scheme says it
    const place = term.calls.length ? `${term.file.split("/").pop()}:${term.line}, from line ${lineInSpec}` : String(term.line || "");
    const composed = term.composed.length ? [make("br"), make("span", {class: "soft"}, "composed: " + term.composed.map(op =>
      `${op.operation} ${shapeText(op.shape, sizes)} (${bytes(op.bytes)} never held)`).join(", "))] : [];
    const fits = term.also_fits.length ? [make("br"), make("span", {class: "soft"}, "also fits: " + term.also_fits.map(other =>
      `${other.strategy} (${other.time.toFixed(1)} × the layer's time)`).join(", "))] : [];
    const row = make("tr", lineInSpec ? {"data-line": lineInSpec} : {}, make("td", {}, make("code", {}, term.text), make("br"),
      make("span", {class: "soft"}, term.description), composed), make("td", {class: "class"}, term.class), make("td", {}, term.strategy || "none", fits),
      make("td", {}, flops(term.flops)), make("td", {}, place));
    row.addEventListener("mouseenter", () => light(row.dataset.line));
    row.addEventListener("mouseleave", () => light(0));
    return row;
  });
  return make("div", {class: "card terms"}, make("h3", {}, attention.formula), make("p", {class: "soft"},
    `${attention.queries} queries, ${attention.keys} keys, space "${attention.space}"` + (attention.mask ? ` where ${attention.mask}` : "")),
    make("table", {}, make("thead", {}, head), make("tbody", {}, rows)));
}

function tablesCard(explain) {
  const unread = explain.attentions.flatMap(attention => attention.rows_never_read.map(table =>
    `of the ${table.rows} rows of '${table.operand}', these are never read: ` + table.unread.map(([a, b]) => a === b ? a : `${a}..${b}`).join(", ")));
  const held = [...explain.never_materialised.map(t => [t, "never held"]), ...explain.materialised.map(t => [t, "held in memory"])];
  const rows = held.map(([tensor, word]) => make("tr", {}, make("td", {}, make("code", {}, shapeText(tensor.shape, explain.sizes))),
    make("td", {}, tensor.names.join(", ") || "—"), make("td", {}, String(tensor.count)), make("td", {}, bytes(tensor.bytes)), make("td", {}, word)));
  return [...unread.map(text => make("p", {class: "soft unread"}, text)), ...(rows.length ? [make("div", {class: "card held"}, make("table", {},
    make("thead", {}, make("tr", {}, ["tensor", "names", "how many", "bytes of a batch row", "what became of it"].map(text => make("th", {}, text)))), make("tbody", {}, rows)))] : [])];
}

// Arithmetic against memory on two logarithmic axes: the roof of the machine, the bound and the prediction of the kernel.
function roofline(explain) {
  const roof = explain.roofline, peak = roof.peak_gflops, rate = roof.memory_gb_per_second;
  if (!(explain.useful_flops > 0 && explain.bytes_moved > 0 && peak > 0 && rate > 0)) return [];
  const intensity = explain.useful_flops / explain.bytes_moved, ridge = peak / rate;
  const log = Math.log10, width = 560, height = 300, left = 60, bottom = 40;
  const xs = [Math.min(intensity, ridge) / 8, Math.max(intensity, ridge) * 8], ys = [rate * xs[0] / 2, peak * 2];
  const x = v => left + (log(v) - log(xs[0])) / (log(xs[1]) - log(xs[0])) * (width - left - 14), y = v => height - bottom - (log(v) - log(ys[0])) / (log(ys[1]) - log(ys[0])) * (height - bottom - 16);
  const svg = make("svg:svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "roofline", class: "roofline"});
  const text = (px, py, words, anchor) => svg.append(make("svg:text", {x: px, y: py, "text-anchor": anchor || "middle"}, words));
  for (const [low, high, place] of [[xs[0], xs[1], v => [x(v), 16, x(v), height - bottom]], [ys[0], ys[1], v => [left, y(v), width - 14, y(v)]]])
    for (let power = Math.floor(log(low)); power <= log(high); ++power)
      for (const step of high < 100 * low ? [1, 2, 5] : [1]) { // a short axis has more numbers than its powers of ten
        const value = Number((step * 10 ** power).toPrecision(1)), [x1, y1, x2, y2] = place(value);
        if (value < low || value > high) continue;
        svg.append(make("svg:line", {class: "grid", x1, y1, x2, y2}));
        x1 === x2 ? text(x1, height - bottom + 16, String(value)) : text(left - 6, y1 + 4, String(value), "end");
      }
  svg.append(make("svg:path", {class: "roof", d: `M${x(xs[0])} ${y(rate * xs[0])}L${x(ridge)} ${y(peak)}L${x(xs[1])} ${y(peak)}`}));
  const bound = Math.min(peak, rate * intensity);
  svg.append(make("svg:circle", {class: "bound", cx: x(intensity), cy: y(bound), r: 6}));
  if (explain.predicted_seconds) {
    const reached = explain.useful_flops / explain.predicted_seconds * 1e-9;
    svg.append(make("svg:circle", {class: "point", cx: x(intensity), cy: y(Math.max(reached, ys[0])), r: 5}));
  }
  text((left + width) / 2, height - 6, "useful FLOP for each byte of arguments and results");
  svg.append(make("svg:text", {transform: `translate(14 ${height / 2 - 10}) rotate(-90)`, "text-anchor": "middle"}, "GFLOP/s of one core"));
  const words = `at least ${time(roof.seconds)}, bound by ${roof.bound === "memory" ? "memory" : "arithmetic"} (ring)` + (explain.predicted_seconds ?
    `; predicted ${time(explain.predicted_seconds)}, ${(100 * explain.predicted_share_of_peak).toFixed(0)} % of the peak (dot)` : "");
  return [make("div", {class: "card"}, make("h3", {}, "roofline"), make("p", {class: "soft"},
    `${peak.toFixed(0)} GFLOP/s and ${rate.toFixed(1)} GB/s of a core of ${explain.target}; with every run-time size 1 unless it was given`), svg, make("p", {}, words))];
}

function scheduleCard(explain) {
  const lines = explain.attentions.map(attention => attention.schedule).filter(Boolean);
  const stages = explain.stages.map(stage => make("tr", {}, make("td", {}, stage.title), make("td", {}, String(stage.line || "")), make("td", {}, stage.buffer_bytes ? bytes(stage.buffer_bytes) : "—")));
  return make("div", {class: "card schedule"}, make("h3", {}, "schedule"), lines.map(line => make("p", {}, line)),
    make("p", {class: "soft"}, `workspace: ${bytes(explain.workspace.shared_bytes)} shared, ${bytes(explain.workspace.worker_bytes)} a worker`),
    make("table", {}, make("thead", {}, make("tr", {}, ["stage", "line", "buffer"].map(text => make("th", {}, text)))), make("tbody", {}, stages)));
}

function kernelSection(kernel, number) {
  const explain = kernel.explain, id = `k${number}`;
  const section = make("section", {id: "kernel-" + explain.name, class: "kernel"}, make("h2", {}, explain.name),
    make("p", {}, make("span", {class: "verdict " + explain.verdict.split(" ")[0]}, explain.verdict), explain.because.length ? ": " + explain.because.join("; ") : ""));
  // Once is enough to read it; the other kernels have it at hand, for the lines that their terms light.
  section.append(number ? make("details", {class: "text"}, make("summary", {}, "the text"), specCard(data.text)) : specCard(data.text));
  for (const attention of explain.attentions) section.append(termsCard(attention, explain.sizes));
  for (const remark of explain.remarks) section.append(make("p", {class: "soft remark"}, (remark.line ? `line ${remark.line}: ` : "") + remark.text));
  const plot = kernel.plot || {skews: [], maps: []}, panels = [];
  plot.skews.forEach((skew, k) => panels.push(skewPanel(skew, `${id}-skew${k}`)));
  kernel.tiles.forEach((tiles, k) => tiles && panels.push(tilesPanel(tiles, explain.attentions[k].tiles, `${id}-tiles${k}`)));
  if (panels.length) section.append(make("h2", {}, "How positions are read"), make("p", {class: "soft"}, plot.caption || ""), make("div", {class: "panels"}, panels));
  const maps = plot.maps.map((map, k) => mapPanel(map, `${id}-map${k}`));
  if (maps.length) section.append(make("h2", {}, "Scores and tables"), make("p", {class: "soft"}, `of operands seeded with ${data.seed}, or given, by the float64 reference`), make("div", {class: "panels"}, maps));
  if (kernel.not_drawn) section.append(make("p", {class: "soft not-drawn"}, "not drawn: " + kernel.not_drawn));
  section.append(make("h2", {}, "Memory and time"), ...tablesCard(explain), make("div", {class: "panels"}, roofline(explain), scheduleCard(explain)));
  section.append(make("details", {}, make("summary", {}, "what skewer explain prints"), make("div", {class: "card"}, make("pre", {}, kernel.text))));
  return section;
}

const given = Object.entries(data.parameters).map(([name, value]) => `-D ${name}=${value}`).join(" ");
document.getElementById("about").textContent = `for ${data.target}` + (given ? `, with ${given}` : "");
data.kernels.forEach((kernel, k) => {
  document.getElementById("main").append(kernelSection(kernel, k));
  if (data.kernels.length > 1) document.getElementById("kernels").append(make("a", {href: "#kernel-" + kernel.explain.name}, kernel.explain.name));
});
document.documentElement.dataset.drawn = "true"; // for tests: everything above ran
