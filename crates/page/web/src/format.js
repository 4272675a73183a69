// Numbers as the command writes them, so that the page and the terminal show the same.

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** 6,001,215 */
export const count = (number) => whole.format(number);

/** "1 row", "2 rows" */
export const counted = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/** 74.2 MB */
export function bytes(number) {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0;
  let value = number;
  while (value >= 999.95 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return unit === 0 ? `${count(value)} B` : `${value.toFixed(1)} ${units[unit]}`;
}

/** 1.88 s, 3 min 20 s, 2 h 05 min */
export function seconds(number) {
  if (number < 0.0005) return "0 s";
  if (number < 1) return `${number.toFixed(3)} s`;
  if (number < 100) return `${number.toFixed(number < 10 ? 2 : 1)} s`;
  const rounded = Math.round(number);
  if (rounded < 3600) return `${Math.floor(rounded / 60)} min ${String(rounded % 60).padStart(2, "0")} s`;
  const minutes = Math.round(rounded / 60);
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

/** A point of time in a load: 7.5 s, 2 min, 2 min 30 s. */
export function clock(number) {
  if (number < 100 || !Number.isInteger(Number(number.toFixed(2)))) return `${Number(number.toFixed(2))} s`;
  const rounded = Math.round(number);
  const minutes = Math.floor(rounded / 60);
  const rest = rounded % 60 === 0 ? "" : ` ${rounded % 60} s`;
  if (minutes < 60) return `${minutes} min${rest}`;
  return `${Math.floor(minutes / 60)} h${minutes % 60 === 0 ? "" : ` ${minutes % 60} min`}${rest}`;
}

const STEPS_S = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 86400];

/** Round points of time from 0 to an end, no more than `most`. */
export function moments(end_s, most) {
  const step = STEPS_S.find((each) => end_s / each <= most) ?? end_s / most;
  const made = [];
  for (let index = 0; index * step <= end_s * 1.0001; index += 1) made.push(Number((index * step).toFixed(3)));
  return made;
}

/** 64 % */
export function percent(share) {
  const value = share * 100;
  if (value > 0 && value < 0.95) return "<1 %";
  return `${value.toFixed(0)} %`;
}

/** 2026-11-22 07:10:14 UTC */
export const moment = (text) => (text ? `${text.slice(0, 10)} ${text.slice(11, 19)} UTC` : "");

/** An SQL name without the quotes that it does not need. */
export function readable(name) {
  const parts = name.match(/"(?:[^"]|"")*"|[^."]+/g) ?? [name];
  return parts.map((part) => (/^"[a-z_][a-z0-9_]*"$/.test(part) ? part.slice(1, -1) : part)).join(".");
}

/** A name where there is little room: of a long one its beginning and its end, which tell it apart. */
export const brief = (name) => (name.length > 44 ? `${name.slice(0, 18)}\u2026${name.slice(-24)}` : name);

export const sum = (numbers) => numbers.reduce((whole, part) => whole + part, 0);

export const largest = (numbers) => numbers.reduce((most, number) => Math.max(most, number), 0);

export function median(numbers) {
  if (numbers.length === 0) return 0;
  const sorted = [...numbers].sort((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
