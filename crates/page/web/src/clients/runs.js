// Runs of clients, and numbers as their page writes them.

import { count } from "../format.js";

export const whole = (number) => count(Math.round(number));

/** Microseconds: 12.3 us, 1,234 us, 1.23 s. */
export function micro(number) {
  if (number >= 1e6) return `${(number / 1e6).toFixed(2)} s`;
  return number < 99.95 ? `${number.toFixed(1)} us` : `${whole(number)} us`;
}

/** The run with the middle rate of those with a number of clients. */
export function middleRun(report, clients) {
  const own = report.runs.filter((run) => run.clients === clients).sort((one, other) => one.calls_per_s - other.calls_per_s);
  return own[Math.floor((own.length - 1) / 2)];
}

/** The run in the middle of each point of the curve. */
export const middleRuns = (report) => report.curve.map(({ clients }) => middleRun(report, clients)).filter(Boolean);
