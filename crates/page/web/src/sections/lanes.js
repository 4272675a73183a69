// What each stream did over time, and the long tail: figure 14 of the account of 2009 shows streams that were still
// reading from a slow disk when all others had ended.

import { lanes, stackedBars } from "../charts.js";
import { h, section } from "../dom.js";
import { figure } from "../figure.js";
import { brief, counted, largest, percent, seconds, sum } from "../format.js";
import { FEED_PHASES, IDLE, PHASES } from "../palette.js";
import { added, edges, factorFor, together } from "../series.js";

/**
 * What is left of each step after its phases, until the stream ended: the time between phases. Whoever looks may come
 * late, and then a step holds some of what belongs to those before it: what it holds too much is taken from what is left of
 * them, and else of those after it.
 */
function between(measurements, stream) {
  const step_us = measurements.step_ms * 1000;
  const ended_us = stream.ended_s * 1e6;
  const known = added(Object.values(stream.phases_us), measurements.steps);
  const left = known.map((us, index) => Math.max(0, Math.min(ended_us - index * step_us, step_us)) - us);
  const settle = (order) => {
    let owed = 0;
    for (const index of order) {
      left[index] -= owed;
      owed = Math.max(0, -left[index]);
      left[index] = Math.max(0, left[index]);
    }
    return owed;
  };
  const forwards = left.map((_, index) => index);
  const owed = settle([...forwards].reverse());
  if (left.length > 0) left[0] -= owed;
  settle(forwards);
  return left;
}

/** A lane's shares of its steps. A step that ends within the lane is as long as it lasted. */
function shares(series, at, end_s) {
  const made = {};
  for (const [kind, values] of Object.entries(series)) {
    made[kind] = values.map((us, index) => {
      const length_s = Math.min(at[index + 1], end_s) - at[index];
      return length_s > 1e-6 ? Math.min(1, us / 1e6 / length_s) : 0;
    });
  }
  return made;
}

const wholes = (series) => Object.fromEntries(Object.entries(series).map(([kind, values]) => [kind, sum(values) / 1e6]));

/** The largest parts of a stream's time, in words. */
function most(seconds_, kinds, end_s) {
  return kinds
    .map((kind) => [kind.name, seconds_[kind.id] ?? 0])
    .filter(([, value]) => value / Math.max(end_s, 1e-9) >= 0.03)
    .sort((one, other) => other[1] - one[1])
    .slice(0, 4)
    .map(([name, value]) => `${name} ${percent(value / Math.max(end_s, 1e-9))}`)
    .join(", ");
}

/** The long tail in a sentence. */
export function tail(ends, load_s) {
  const last = largest(ends);
  const idle = sum(ends.map((end) => Math.max(0, load_s - end))) / Math.max(load_s * ends.length, 1e-9);
  if (ends.length === 1) return "One stream loaded all of it.";
  // The time at which half of them had ended, not a mean of two times.
  const middle = [...ends].sort((one, other) => one - other)[Math.floor((ends.length - 1) / 2)];
  const late = ends.filter((end) => end > middle + (last - middle) / 2).length;
  if (last - middle > 0.05 * last && late <= ends.length / 2) {
    return (
      `A long tail: half of the streams had ended by ${seconds(middle)}, and the last one ended at ${seconds(last)}. ` +
      `${counted(late, "stream")} worked on through most of that time; ` +
      `${percent(idle)} of all streams' time went by with nothing left to do.`
    );
  }
  return `No long tail: the streams ended between ${seconds(Math.min(...ends))} and ${seconds(last)}; ${percent(idle)} of their time went by with nothing left to do.`;
}

export function streams(report) {
  const { measurements } = report;
  if (!measurements || measurements.steps === 0 || measurements.streams.length === 0) return withoutSeries(report);
  const all = measurements.streams.map((stream) => ({
    stream,
    name: `${stream.stream}`,
    end_s: stream.ended_s,
    series: { ...stream.phases_us, between: between(measurements, stream) },
  }));
  const used = PHASES.filter(({ id }) => all.some(({ series }) => sum(series[id] ?? []) > 0));
  const ends = all.map(({ end_s }) => end_s);
  const last = all.reduce((latest, one) => (one.end_s > latest.end_s ? one : latest));
  const charts = [
    figure({
      id: "lanes",
      title: "Each stream over time, and the long tail",
      says: [
        tail(ends, measurements.load_s),
        ` The last one was stream ${last.name}: ${most(wholes(last.series), PHASES, last.end_s) || "nothing measured"}.`,
        " Plain colours are work, hatched ones are waiting.",
      ],
      legend: [...used, ...(ends.some((end) => end < measurements.load_s * 0.995) ? [IDLE] : [])],
      draw: ({ width, isPaper }) => draw(measurements, all, PHASES, width, isPaper),
      numbers: () => numbers(all, used),
    }),
  ];
  if (measurements.feeds?.length > 0) {
    const feeds = measurements.feeds.map((feed) => ({
      name: brief(feed.file.split("/").pop()),
      file: feed.file,
      end_s: measurements.load_s,
      series: { read: feed.read_us, decompress: feed.decompress_us, scan: feed.scan_us },
    }));
    charts.push(
      figure({
        id: "feeds",
        title: "Each file that one thread reads for several streams",
        says: `${counted(feeds.length, "file")} could not be read from the middle (compressed, translated, or a pipe). A lane is blank while the thread waited for a stream to take its data, and after its end. ${feeds
          .map((feed) => `${feed.name}: ${most(wholes(feed.series), FEED_PHASES, feed.end_s)}`)
          .slice(0, 4)
          .join("; ")}.`,
        legend: FEED_PHASES,
        draw: ({ width, isPaper }) => draw(measurements, feeds, FEED_PHASES, width, isPaper),
        numbers: () => numbers(feeds, FEED_PHASES, "File"),
      }),
    );
  }
  return section("streams", "Streams", charts);
}

function draw(measurements, all, kinds, width, isPaper) {
  const factor = factorFor(measurements.steps, Math.min(width / 2, Math.max(80, 9000 / all.length)));
  const at = edges(measurements, factor);
  return lanes({
    width,
    isPaper,
    at,
    end_s: measurements.load_s,
    kinds,
    lanes: all.map((one) => {
      const series = Object.fromEntries(Object.entries(one.series).map(([kind, values]) => [kind, together(values, factor)]));
      return {
        name: one.name,
        end_s: one.end_s,
        shares: shares(series, at, one.end_s),
        note: `${one.stream ? `stream ${one.name}, ended at ${seconds(one.end_s)}` : one.file}\n${most(wholes(one.series), kinds, one.end_s).replaceAll(", ", "\n")}`,
      };
    }),
  });
}

function numbers(all, kinds, first = "Stream") {
  const right = true;
  return {
    columns: [{ name: first }, { name: "Ended at", right }, ...kinds.map(({ name }) => ({ name, right }))],
    rows: all.map((one) => {
      const whole = wholes(one.series);
      return [one.file ?? one.name, seconds(one.end_s), ...kinds.map(({ id }) => seconds(whole[id] ?? 0))];
    }),
  };
}

/** Of a run without series: where each stream's time went, in all. */
function withoutSeries(report) {
  const all = report.streams ?? [];
  if (all.length === 0) return null;
  const parts = {
    read: "read_ns",
    decompress: "decompress_ns",
    scan: "scan_ns",
    convert: "convert_ns",
    transform: "transform_ns",
    verify: "verify_ns",
    encode: "encode_ns",
    send_wait: "send_wait_ns",
    verify_wait: "verify_wait_ns",
    server_wait: "server_wait_ns",
  };
  const kinds = PHASES.filter(({ id }) => all.some(({ meter }) => (meter[parts[id]] ?? 0) > 0));
  const bars = all.map(({ stream, meter }) => ({
    name: `${stream}`,
    parts: kinds.map((kind) => ({ kind, value: meter[parts[kind.id]] / 1e9 })),
  }));
  const most_s = Math.max(report.phases.load_s, ...bars.map((bar) => sum(bar.parts.map(({ value }) => value))));
  return section(
    "streams",
    "Streams",
    h("p", { class: "lead" }, "This run was not measured over time; only the totals of each stream are known."),
    figure({
      id: "lanes",
      title: "Where each stream's time went",
      says: tail(
        all.map(({ ended_s }) => ended_s),
        report.phases.load_s,
      ),
      legend: kinds,
      draw: ({ width, isPaper }) => stackedBars({ width, isPaper, bars, most: most_s, format: seconds, isTime: true }),
      numbers: () => ({
        columns: [{ name: "Stream" }, { name: "Ended at", right: true }, { name: "Pieces", right: true }, ...kinds.map(({ name }) => ({ name, right: true }))],
        rows: all.map((one, index) => [
          `${one.stream}`,
          seconds(one.ended_s),
          `${one.pieces}`,
          ...bars[index].parts.map(({ value }) => seconds(value)),
        ]),
      }),
    }),
  );
}
