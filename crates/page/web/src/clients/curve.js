// Calls per second over the number of clients, and what sessions did there.

import { curveOver, stackedBars } from "../charts.js";
import { h, section } from "../dom.js";
import { figure } from "../figure.js";
import { count, counted, percent } from "../format.js";
import { STATES } from "../palette.js";
import { micro, middleRuns, whole } from "./runs.js";

const right = true;

export function curve(report) {
  if (report.curve.length === 0) return null;
  const best = report.curve.find(({ is_best }) => is_best);
  return section(
    "curve",
    "The curve over clients",
    figure({
      id: "curve-rate",
      title: `${report.workload === "inserts" ? "Inserts" : "Calls"} per second, by clients`,
      says: `The most are ${whole(best.calls_per_s)} with ${counted(best.clients, "client")}. A vertical line is the spread of the rounds.`,
      draw: ({ width }) =>
        curveOver({
          width,
          points: report.curve.map((point) => ({
            x: point.clients,
            y: point.calls_per_s,
            least: point.calls_per_s_least,
            most: point.calls_per_s_most,
            isBest: point.is_best,
            title: `${counted(point.clients, "client")}: ${whole(point.calls_per_s)}/s\n${point.limit}`,
          })),
          label: `↑ ${report.workload}/s`,
          xLabel: "clients →",
        }),
      numbers: () => ({
        columns: [{ name: "Clients" }, { name: "Runs", right }, { name: "Per second", right }, { name: "Least", right }, { name: "Most", right }, { name: "p50", right }, { name: "p99", right }, { name: "p99.99", right }, { name: "Fairness", right }, { name: "What limits", grow: true }],
        rows: report.curve.map((point) => [
          count(point.clients),
          count(point.runs),
          whole(point.calls_per_s),
          whole(point.calls_per_s_least),
          whole(point.calls_per_s_most),
          micro(point.p50_us),
          micro(point.p99_us),
          micro(point.p99_99_us),
          point.fairness.toFixed(3),
          point.limit,
        ]),
      }),
    }),
  );
}

/** Why it bends: states of sessions for each number of clients. */
export function states(report) {
  const runs = middleRuns(report).filter(({ states: seen }) => seen.length > 0);
  if (runs.length === 0) return null;
  const kinds = STATES.map((kind) => ({
    ...kind,
    state: kind.id.replace("state_", ""),
    name: kind.name.replace("the loader", "the client"),
  })).filter(({ state }) => runs.some((run) => run.states.some((each) => each.state === state && each.share > 0)));
  const shareOf = (run, state) => run.states.find((each) => each.state === state)?.share ?? 0;
  const bars = runs.map((run) => ({ name: `${run.clients}`, parts: kinds.map((kind) => ({ kind, value: shareOf(run, kind.state) })) }));
  return section(
    "states",
    "Why it bends: what the server's sessions did",
    h("p", { class: "lead" }, "Sessions of the clients were looked at ten times a second. A state whose share grows with the number of clients is what limits the larger numbers."),
    figure({
      id: "states-by-clients",
      title: "States of sessions, by clients",
      says: runs
        .map((run) => `${counted(run.clients, "client")}: ${run.events.slice(0, 2).map(([event, share]) => `${event} ${percent(share)}`).join(", ") || "not seen"}`)
        .join("; "),
      legend: kinds,
      draw: ({ width, isPaper }) => stackedBars({ width, isPaper, bars, most: 1, format: percent }),
      numbers: () => ({
        columns: [{ name: "Clients" }, ...kinds.map(({ name }) => ({ name, right })), { name: "Wait events", grow: true }],
        rows: runs.map((run) => [
          count(run.clients),
          ...kinds.map(({ state }) => percent(shareOf(run, state))),
          run.events.filter(([, share]) => share >= 0.005).map(([event, share]) => `${event} ${percent(share)}`).join(", "),
        ]),
      }),
    }),
  );
}
