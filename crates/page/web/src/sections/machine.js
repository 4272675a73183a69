import { lines, stackedAreas } from "../charts.js";
import { facts, section } from "../dom.js";
import { figure } from "../figure.js";
import { bytes, clock, count, largest, percent, seconds, sum } from "../format.js";
import { CPU } from "../palette.js";
import { edges, factorForChart, forTable, last, remaining, rowsOverTime, together } from "../series.js";

const right = true;

export function machine(report) {
  const { measurements } = report;
  if (!measurements || measurements.steps === 0) return null;
  return section("machine", "Server and machine over time", [cpu(measurements), disk(measurements), memory(measurements)], server(measurements));
}

const cores = (value) => `${Number(value.toPrecision(3))} ${value === 1 ? "core" : "cores"}`;

function cpu(measurements) {
  const known = measurements.machine;
  if (known.cpu_us.length === 0) return null;
  const own = known.loader_cpu_us;
  const backends = known.backends_cpu_us ?? null;
  const values = {
    cpu_loader: own,
    cpu_backends: backends,
    cpu_other: remaining(known.cpu_us, [own, ...(backends ? [backends] : [])]),
    cpu_stolen: known.cpu_stolen_us,
  };
  const layers = CPU.filter(({ id }) => values[id] && sum(values[id]) > 0).map((kind) => ({ ...kind, values: values[kind.id] }));
  const load_s = Math.max(measurements.load_s, 1e-9);
  const mean = (us) => sum(us) / 1e6 / load_s;
  const whole = sum(layers.map((layer) => mean(layer.values)));
  const throttled = known.cpu_throttled_us ? sum(known.cpu_throttled_us) / 1e6 : 0;
  return figure({
    id: "cpu",
    title: "CPU",
    says:
      `On average ${cores(whole)} of ${known.cores} were busy (${percent(whole / known.cores)}): ` +
      layers.map((layer) => `${layer.name} ${Number(mean(layer.values).toFixed(2))}`).join(", ") +
      `.${throttled > 0 ? ` A limit of its control group held the loader back for ${seconds(throttled)}.` : ""}`,
    legend: layers,
    draw: ({ width, isPaper }) => {
      const factor = factorForChart(measurements.steps, width);
      const at = edges(measurements, factor);
      return stackedAreas({
        width,
        isPaper,
        height: 200,
        at,
        layers: layers.map((layer) => ({
          ...layer,
          values: together(layer.values, factor).map((us, index) => us / 1e6 / (at[index + 1] - at[index])),
        })),
        label: "↑ cores",
        format: cores,
        tick: (value) => `${value}`,
        limit: { name: `${known.cores} cores`, value: known.cores },
      });
    },
    numbers: () => {
      const summed = layers.map((layer) => forTable(measurements, layer.values));
      return {
        columns: [{ name: "Time" }, ...layers.map(({ name }) => ({ name, right }))],
        rows: rowsOverTime(measurements, (index, from, to) => [
          `${clock(from)} to ${clock(to)}`,
          ...summed.map((us) => cores(us[index] / 1e6 / (to - from))),
        ]),
      };
    },
  });
}

function disk(measurements) {
  const known = measurements.machine;
  const read = known.disk_read_bytes;
  const written = known.disk_written_bytes;
  if (sum(read) + sum(written) === 0) return null;
  const busy = sum(known.disk_busy_ms) / 1000 / Math.max(measurements.load_s, 1e-9);
  const kinds = [
    { name: "read", stroke: "var(--disk-read)", fill: "var(--disk-read)", all: read },
    { name: "written (dashed)", stroke: "var(--disk-written)", fill: "var(--disk-written)", dash: "6 3", all: written },
  ];
  const rate = (value) => `${bytes(value)}/s`;
  const over = (values, at) => values.map((size, index) => size / (at[index + 1] - at[index]));
  return figure({
    id: "disk",
    title: "Disks of the machine",
    says: `${bytes(sum(read))} were read and ${bytes(sum(written))} written, by everybody on the machine; the busiest disk had something to do for ${percent(Math.min(1, busy))} of the time.`,
    legend: kinds,
    draw: ({ width, isPaper }) => {
      const factor = factorForChart(measurements.steps, width);
      const at = edges(measurements, factor);
      return lines({
        width,
        isPaper,
        height: 180,
        at,
        lines: kinds.map((kind) => ({ ...kind, values: over(together(kind.all, factor), at) })),
        label: "↑ MB/s",
        format: rate,
        tick: (value) => count(value / 1e6),
      });
    },
    numbers: () => {
      const [r, w, b] = [read, written, known.disk_busy_ms].map((values) => forTable(measurements, values));
      return {
        columns: [{ name: "Time" }, { name: "Read", right }, { name: "Written", right }, { name: "Busiest disk", right }],
        rows: rowsOverTime(measurements, (index, from, to) => [
          `${clock(from)} to ${clock(to)}`,
          rate(r[index] / (to - from)),
          rate(w[index] / (to - from)),
          percent(Math.min(1, b[index] / 1000 / (to - from))),
        ]),
      };
    },
  });
}

function memory(measurements) {
  const all = measurements.machine.loader_memory_bytes;
  if (largest(all) === 0) return null;
  return figure({
    id: "memory",
    title: "Memory of the loader",
    says: `At most ${bytes(largest(all))} were resident at the end of a step.`,
    draw: ({ width, isPaper }) => {
      const factor = factorForChart(measurements.steps, width);
      return lines({
        width,
        isPaper,
        height: 140,
        at: edges(measurements, factor),
        lines: [{ name: "resident", stroke: "var(--series-1)", values: last(all, factor) }],
        label: "↑ MB",
        format: bytes,
        tick: (value) => count(value / 1e6),
      });
    },
    numbers: () => {
      const values = forTable(measurements, all, last);
      return {
        columns: [{ name: "Time" }, { name: "Resident", right }],
        rows: rowsOverTime(measurements, (index, from, to) => [`${clock(from)} to ${clock(to)}`, bytes(values[index])]),
      };
    },
  });
}

function server(measurements) {
  const known = measurements.server;
  const given = (value, text) => (value === null || value === undefined ? null : text(value));
  return facts([
    ["The server", known && (known.is_local ? "on the loader's machine" : "on another machine")],
    ["WAL that it wrote during the load", given(known?.wal_bytes, bytes)],
    ["Checkpoints because of time", given(known?.checkpoints_timed, count)],
    ["Checkpoints because of WAL, or asked for", given(known?.checkpoints_requested, count)],
    ["Measuring all this took", given(measurements.metering_cpu_s, (spent) => `${seconds(spent)} of CPU`)],
  ]);
}
