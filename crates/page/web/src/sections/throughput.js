// Throughput over time by table, as in figure 8 of the account of 2009.

import { stackedAreas } from "../charts.js";
import { h, section } from "../dom.js";
import { figure } from "../figure.js";
import { brief, bytes, clock, count, largest, median, readable, seconds, sum } from "../format.js";
import { SERIES } from "../palette.js";
import { added, edges, factorForChart, forTable, rowsOverTime, together } from "../series.js";

/** Tables by their amount; past the eighth all others together. */
function layersOf(report, measurements, unit) {
  const targets = new Map(report.tables.map((each) => [each.flow, readable(each.target)]));
  const all = measurements.tables
    .map((each) => ({ name: brief(targets.get(each.flow) ?? each.flow), values: each[unit], whole: sum(each[unit]) }))
    .filter(({ whole }) => whole > 0);
  // Two flows of one target are one table here.
  const byName = new Map();
  for (const one of all) {
    const known = byName.get(one.name);
    if (known) {
      known.values = added([known.values, one.values], measurements.steps);
      known.whole += one.whole;
    } else byName.set(one.name, one);
  }
  const sorted = [...byName.values()].sort((one, other) => other.whole - one.whole);
  const shown = sorted.length > SERIES.length ? sorted.slice(0, SERIES.length - 1) : sorted;
  const others = sorted.slice(shown.length);
  if (others.length > 0) {
    shown.push({
      name: `${others.length} other tables`,
      values: added(others.map(({ values }) => values), measurements.steps),
      whole: sum(others.map(({ whole }) => whole)),
    });
  }
  return shown.map((layer, index) => ({ ...layer, fill: SERIES[index] }));
}

/** Rates by step: amounts divided by the length of their step. */
const rates = (values, at) => values.map((value, index) => value / Math.max(at[index + 1] - at[index], 1e-9));

export function throughput(report) {
  const { measurements } = report;
  if (!measurements || measurements.steps === 0) return null;
  const charts = [
    ["throughput-bytes", "stored_bytes", "Bytes read from files, by table", "MB/s", (value) => bytes(value) + "/s", (value) => count(value / 1e6)],
    ["throughput-rows", "rows", "Rows read, by table", "rows/s", (value) => `${count(value)} rows/s`, (value) => short(value)],
  ];
  const made = charts.map(([id, unit, title, axis, format, tick]) => {
    const layers = layersOf(report, measurements, unit);
    if (layers.length === 0) return null;
    const whole = added(layers.map(({ values }) => values), measurements.steps);
    const all = rates(whole, edges(measurements, 1));
    const top = largest(all.slice(0, Math.max(1, all.length - 1)));
    const middle = median(all);
    const mean = sum(whole) / Math.max(measurements.load_s, 1e-9);
    const peak = layers[0];
    return figure({
      id,
      title,
      says:
        `On average ${format(mean)} over ${seconds(measurements.load_s)}; ${middle > 0 ? `half of the steps had ${format(middle)} or more, ` : ""}the best one had ` +
        `${format(top)}.${layers.length > 1 ? ` Most of it was ${peak.name} (${unit === "rows" ? `${count(peak.whole)} rows` : bytes(peak.whole)}).` : ""}`,
      legend: layers.map(({ name, fill }) => ({ name, fill })),
      draw: ({ width, isPaper }) => {
        const factor = factorForChart(measurements.steps, width);
        const at = edges(measurements, factor);
        return stackedAreas({
          width,
          isPaper,
          height: 260,
          at,
          layers: layers.map((layer) => ({ ...layer, values: rates(together(layer.values, factor), at) })),
          label: `↑ ${axis}`,
          format,
          tick,
        });
      },
      numbers: () => {
        const right = true;
        const summed = layers.map(({ values }) => forTable(measurements, values));
        const rows = rowsOverTime(measurements, (index, from, to) => [
          `${clock(from)} to ${clock(to)}`,
          ...summed.map((values) => format(values[index] / Math.max(to - from, 1e-9))),
        ]);
        return { columns: [{ name: "Time" }, ...layers.map(({ name }) => ({ name, right }))], rows };
      },
    });
  });
  if (made.every((each) => each === null)) return null;
  return section("throughput", "Throughput over time", h("p", { class: "lead" }, "If the rate falls while one table is read, that table is the cause; if it falls at the end, the long tail is."), made);
}

/** 1.2 M, 350 k: short enough for an axis. */
function short(value) {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3))} M`;
  if (value >= 1e3) return `${Number((value / 1e3).toPrecision(3))} k`;
  return `${Number(value.toPrecision(3))}`;
}
