// Runs over time, second by second.

import { lines, stackedAreas } from "../charts.js";
import { h, opened, section, table } from "../dom.js";
import { figure } from "../figure.js";
import { bytes, count, counted } from "../format.js";
import { CPU, SERIES } from "../palette.js";
import { micro, middleRun, middleRuns, whole } from "./runs.js";

const right = true;

export function overTime(report) {
  const best = report.curve.find(({ is_best }) => is_best);
  const run = best && middleRun(report, best.clients);
  if (!run || run.per_second.length < 2) return null;
  // The last second is cut off by the end of the run.
  const shown = run.per_second.slice(0, -1);
  const at = Array.from({ length: shown.length + 1 }, (_, second) => second);
  const marks = shown.filter(({ marks: own }) => own.some((mark) => !mark.startsWith("table")));
  const warm = run.warm_up_s > 0 ? `The first ${run.warm_up_s} s are warm-up and are cut off. ` : "No warm-up was found. ";
  return section(
    "time",
    `Over time, with ${counted(run.clients, "client")}`,
    figure({
      id: "calls-over-time",
      title: `${report.workload === "inserts" ? "Inserts" : "Calls"} per second`,
      says: `${warm}${marks.length > 0 ? `Marked: ${marks.slice(0, 8).map(({ second, marks: own }) => `second ${second}: ${own.join(", ")}`).join("; ")}${marks.length > 8 ? ", and more in the table" : ""}.` : "No checkpoint, autovacuum or new WAL segment."}`,
      draw: ({ width, isPaper }) =>
        lines({
          width,
          isPaper,
          height: 220,
          at,
          lines: [{ name: `${report.workload}/s`, stroke: SERIES[0], values: shown.map(({ calls }) => calls) }],
          label: `↑ ${report.workload}/s`,
          format: whole,
          marks: [
            ...(run.warm_up_s > 0 ? [{ at: run.warm_up_s, name: "warm-up ends" }] : []),
            ...marks.slice(0, 40).map(({ second, marks: own }) => ({ at: second + 0.5, name: own.map(shortMark).join(" ") })),
          ],
        }),
      numbers: () => secondsTable(run),
    }),
    figure({
      id: "latency-over-time",
      title: "Latency",
      says: "The median and the 99 % latency of each second, in microseconds.",
      legend: [
        { name: "p50", fill: SERIES[0] },
        { name: "p99", fill: SERIES[1] },
      ],
      draw: ({ width, isPaper }) =>
        lines({
          width,
          isPaper,
          height: 180,
          at,
          lines: [
            { name: "p50", stroke: SERIES[0], values: shown.map(({ p50_us }) => p50_us) },
            { name: "p99", stroke: SERIES[1], values: shown.map(({ p99_us }) => p99_us) },
          ],
          label: "↑ us",
          format: micro,
          tick: whole,
        }),
    }),
    cpu(shown, at, run),
    opened("The other runs, second by second", () =>
      middleRuns(report)
        .filter((other) => other !== run)
        .map((other) => {
          const { columns, rows } = secondsTable(other);
          return [h("h3", null, counted(other.clients, "client")), table(`Seconds of ${counted(other.clients, "client")}`, columns, rows)];
        })
        .flat(),
    ),
  );
}

const shortMark = (mark) => (mark.includes("checkpoint") ? "C" : mark.includes("vacuum") ? "V" : mark.includes("WAL segments") ? "W" : "");

function cpu(shown, at, run) {
  const kinds = [
    { ...CPU[0], name: "the clients", values: shown.map(({ cpu_clients }) => cpu_clients) },
    { ...CPU[1], name: "the server", values: shown.map(({ cpu_server }) => cpu_server ?? 0) },
    { ...CPU[2], values: shown.map(({ cpu_others }) => cpu_others) },
  ];
  return figure({
    id: "cpu-over-time",
    title: "CPU",
    says: `On average the clients used ${run.cpu.clients.toFixed(2)} of ${counted(run.cpu.cores, "core")}, ${run.cpu.server === null ? "the server is on another machine" : `the server ${run.cpu.server.toFixed(2)}`}, others ${run.cpu.others.toFixed(2)}.`,
    legend: kinds,
    draw: ({ width, isPaper }) =>
      stackedAreas({
        width,
        isPaper,
        height: 180,
        at,
        layers: kinds,
        label: "↑ cores",
        format: (value) => value.toFixed(2),
        tick: (value) => `${value}`,
        limit: { name: counted(run.cpu.cores, "core"), value: run.cpu.cores },
      }),
  });
}

function secondsTable(run) {
  return {
    columns: [{ name: "Second" }, ...["Calls", "p50", "p99", "Longest", "CPU clients", "CPU server", "CPU others", "Run queue", "WAL", "Not flushed", "Table grew by"].map((name) => ({ name, right })), { name: "Marks", grow: true }],
    rows: run.per_second.map((each) => [
      `${each.second}${each.is_warm_up ? " (warm-up)" : ""}`,
      count(each.calls),
      micro(each.p50_us),
      micro(each.p99_us),
      micro(each.most_us),
      each.cpu_clients.toFixed(2),
      each.cpu_server === null ? "-" : each.cpu_server.toFixed(2),
      each.cpu_others.toFixed(2),
      count(each.running),
      bytes(each.wal_bytes),
      bytes(each.wal_unflushed_bytes),
      bytes(each.extended_bytes),
      each.marks.filter((mark) => !mark.startsWith("table")).join(", "),
    ]),
  };
}
