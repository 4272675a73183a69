// Series over time, reduced to as many steps as a picture or a table can show.

import { sum } from "./format.js";

/** The numbers of each `factor` steps as one: their sum. */
export function together(values, factor) {
  if (factor <= 1) return values;
  const made = new Array(Math.ceil(values.length / factor)).fill(0);
  for (let index = 0; index < values.length; index += 1) made[Math.floor(index / factor)] += values[index];
  return made;
}

/** The last number of each `factor` steps: for what is no amount but a state. */
export function last(values, factor) {
  if (factor <= 1) return values;
  const made = [];
  for (let index = 0; index < values.length; index += factor) {
    made.push(values[Math.min(index + factor, values.length) - 1]);
  }
  return made;
}

/** How many steps become one, so that there are no more than `most`. */
export const factorFor = (steps, most) => Math.max(1, Math.ceil(steps / Math.max(1, most)));

/** How many steps become one in a chart over time: finer ones would show how chunks fall into steps, and nothing else. */
export const factorForChart = (steps, width) => factorFor(steps, Math.min(width / 3, 300));

/** Adds up series of the same length. */
export function added(series, steps) {
  const made = new Array(steps).fill(0);
  for (const values of series) for (let index = 0; index < values.length; index += 1) made[index] += values[index];
  return made;
}

/** What is left of the first series after the others, never less than nothing. */
export function remaining(whole, parts) {
  return whole.map((value, index) => Math.max(0, value - sum(parts.map((part) => part[index] ?? 0))));
}

/**
 * The times at which steps begin and the time at which the last one ends, in seconds. The last step is as long as the
 * load had left of it.
 */
export function edges(measurements, factor) {
  const step_s = (measurements.step_ms * factor) / 1000;
  const bins = Math.ceil(measurements.steps / factor);
  const made = Array.from({ length: bins }, (_, index) => index * step_s);
  made.push(Math.max(Math.min(bins * step_s, measurements.load_s), made[bins - 1] + step_s / 100 || 0));
  return made;
}

/** Rows that a table over time has at most. */
const TABLE_ROWS = 120;

/** A series with one number for each row of a table over time. */
export const forTable = (measurements, values, how = together) => how(values, factorFor(measurements.steps, TABLE_ROWS));

/** Rows of a table over time: what `cells` makes of each row's number, its beginning and its end. */
export function rowsOverTime(measurements, cells) {
  const at = edges(measurements, factorFor(measurements.steps, TABLE_ROWS));
  return at.slice(0, -1).map((from, index) => cells(index, from, at[index + 1]));
}
