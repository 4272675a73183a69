import { stackedBars } from "../charts.js";
import { section } from "../dom.js";
import { figure } from "../figure.js";
import { moment, percent, seconds, sum } from "../format.js";
import { CAUSES, RUN_PHASES } from "../palette.js";

/** Seconds of each phase; what is left of the whole is the rest. */
function spent(known, whole_s) {
  const values = { phase_plan: known.plan_s, phase_load: known.load_s, phase_switch: known.switch_s, phase_analyze: known.analyze_s };
  values.phase_rest = Math.max(0, whole_s - sum(Object.values(values)));
  return values;
}

/** Prediction against fact, in a sentence. */
function compared(report, prediction) {
  const took = report.phases.total_s;
  const off = took / Math.max(prediction.predicted_s, 1e-9) - 1;
  const how = Math.abs(off) < 0.005 ? "as much as" : `${percent(Math.abs(off))} ${off > 0 ? "more than" : "less than"}`;
  const limit = CAUSES.find(({ id }) => id === prediction.limiting)?.name ?? prediction.limiting;
  return `That is ${how} the ${seconds(prediction.predicted_s)} that a preflight had predicted (${moment(prediction.made_at)}), limited by ${limit}: ${prediction.because}.`;
}

/** What the run's time went to, from the command to its end, beside what a preflight had predicted. */
export function phases(report) {
  const known = report.phases;
  if (!(known.total_s > 0) || report.outcome === "already_loaded") return null;
  const { prediction } = report;
  const values = spent(known, known.total_s);
  const foretold = prediction && spent(prediction, prediction.predicted_s);
  const kinds = RUN_PHASES.filter(({ id }) => values[id] >= 0.0005 || foretold?.[id] >= 0.0005);
  const partsOf = (each) => kinds.map((kind) => ({ kind, value: each[kind.id] }));
  const parts = partsOf(values);
  const bars = [{ name: prediction ? "it took" : "", parts }];
  if (prediction) bars.push({ name: "predicted", parts: partsOf(foretold) });
  const most = Math.max(known.total_s, prediction?.predicted_s ?? 0);
  return section(
    "phases",
    "Phases of the run",
    figure({
      id: "run-phases",
      title: "From the command to its end",
      says: `${seconds(known.total_s)} in all: ${parts.map(({ kind, value }) => `${kind.name} ${seconds(value)} (${percent(value / known.total_s)})`).join(", ")}.${prediction ? ` ${compared(report, prediction)}` : ""}`,
      legend: kinds,
      draw: ({ width, isPaper }) =>
        stackedBars({ width, isPaper, bars, most, format: seconds, isTime: true, barHeight: 40 }),
      numbers: () => ({
        columns: [
          { name: "Phase" },
          { name: "What" },
          { name: "Seconds", right: true },
          { name: "Share", right: true },
          ...(prediction ? [{ name: "Predicted", right: true }] : []),
        ],
        rows: parts.map(({ kind, value }) => [
          kind.name,
          kind.what,
          seconds(value),
          percent(value / known.total_s),
          ...(prediction ? [seconds(foretold[kind.id])] : []),
        ]),
      }),
    }),
  );
}
