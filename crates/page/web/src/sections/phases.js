import { stackedBars } from "../charts.js";
import { section } from "../dom.js";
import { figure } from "../figure.js";
import { percent, seconds, sum } from "../format.js";
import { RUN_PHASES } from "../palette.js";

/** What the run's time went to, from the command to its end. */
export function phases(report) {
  const known = report.phases;
  if (!(known.total_s > 0) || report.outcome === "already_loaded") return null;
  const values = { phase_plan: known.plan_s, phase_load: known.load_s, phase_switch: known.switch_s, phase_analyze: known.analyze_s };
  values.phase_rest = Math.max(0, known.total_s - sum(Object.values(values)));
  const kinds = RUN_PHASES.filter(({ id }) => values[id] > 0);
  const parts = kinds.map((kind) => ({ kind, value: values[kind.id] }));
  return section(
    "phases",
    "Phases of the run",
    figure({
      id: "run-phases",
      title: "From the command to its end",
      says: `${seconds(known.total_s)} in all: ${parts.map(({ kind, value }) => `${kind.name} ${seconds(value)} (${percent(value / known.total_s)})`).join(", ")}.`,
      legend: kinds,
      draw: ({ width, isPaper }) =>
        stackedBars({ width, isPaper, bars: [{ name: "", parts }], most: known.total_s, format: seconds, isTime: true, barHeight: 40 }),
      numbers: () => ({
        columns: [{ name: "Phase" }, { name: "What" }, { name: "Seconds", right: true }, { name: "Share", right: true }],
        rows: parts.map(({ kind, value }) => [kind.name, kind.what, seconds(value), percent(value / known.total_s)]),
      }),
    }),
  );
}
