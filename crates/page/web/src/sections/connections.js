// The flow of each connection, as figures 12 and 13 of the account of 2009 showed it: how much of its time it was held
// back, and by what. TCP counts this itself; for other connections, the loader's own timers are used.

import { lanes, stackedBars } from "../charts.js";
import { h, section, table } from "../dom.js";
import { figure } from "../figure.js";
import { bytes, counted, median, percent, seconds, sum } from "../format.js";
import { FLOW_LIMITS, IDLE, PIPELINE, STATES } from "../palette.js";
import { edges, factorFor, together } from "../series.js";

/** Microseconds of each limit by step. */
function limits(tcp) {
  const receiver = tcp.receiver_limited_us;
  const send_buffer = tcp.send_buffer_limited_us;
  return {
    path: tcp.busy_us.map((busy, index) => Math.max(0, busy - receiver[index] - send_buffer[index])),
    receiver,
    send_buffer,
  };
}

function pipeline(stream, load_s) {
  const of = (...phases) => sum(phases.map((phase) => sum(stream.phases_us[phase] ?? []))) / 1e6;
  const made = {
    source: of("read", "decompress", "feed_wait"),
    work: of("scan", "convert", "transform", "verify", "encode"),
    pace_wait: of("pace_wait"),
    send_wait: of("send_wait"),
    server_wait: of("verify_wait", "server_wait"),
  };
  made.between = Math.max(0, stream.ended_s - sum(Object.values(made)));
  made.idle = Math.max(0, load_s - stream.ended_s);
  return made;
}

/** Which parts are how much of all, the largest first. */
function inWords(bars, kinds, whole) {
  const shares = kinds
    .map((kind) => [kind.name, sum(bars.map((bar) => bar.values[kind.id] ?? 0)) / Math.max(whole, 1e-9)])
    .filter(([, share]) => share >= 0.02)
    .sort((one, other) => other[1] - one[1])
    .map(([name, share]) => `${name} ${percent(share)}`);
  return shares.length > 0 ? `Of all connections' time: ${shares.join(", ")}.` : "";
}

export function connections(report) {
  const { measurements } = report;
  if (!measurements || measurements.streams.length === 0) return null;
  const { load_s } = measurements;
  const byTcp = measurements.streams.filter(({ tcp }) => tcp);
  const parts = byTcp.length > 0 ? [...flow(measurements, byTcp)] : [];
  const others = measurements.streams.filter(({ tcp }) => !tcp);
  if (others.length > 0) {
    const bars = others.map((stream) => ({ name: `${stream.stream}`, values: pipeline(stream, load_s) }));
    const kinds = PIPELINE.filter(({ id }) => bars.some(({ values }) => values[id] > 0));
    parts.push(
      figure({
        id: "pipeline",
        title: "Where each connection's time went",
        says: `${counted(others.length, "connection")} without TCP (a socket on this machine, or a library): measured by the loader's own timers. ${inWords(bars, kinds, load_s * bars.length)}`,
        legend: kinds,
        draw: ({ width, isPaper }) => stackedBars({ width, isPaper, bars: drawnBars(bars, kinds), most: load_s, format: seconds, isTime: true }),
        numbers: () => barNumbers(bars, kinds),
      }),
    );
  }
  const seen = backends(measurements);
  return section(
    "connections",
    "Connections",
    h(
      "p",
      { class: "lead" },
      "A connection that mostly waits for the loader is held back before it: by the source or by the loader's CPU. One that mostly ",
      "waits to send is held back behind it: by the network, or by a destination that does not take the bytes.",
    ),
    parts,
    seen,
  );
}

const drawnBars = (bars, kinds) => bars.map(({ name, values }) => ({ name, parts: kinds.map((kind) => ({ kind, value: values[kind.id] ?? 0 })) }));

const barNumbers = (bars, kinds) => ({
  columns: [{ name: "Stream" }, ...kinds.map(({ name }) => ({ name, right: true }))],
  rows: bars.map(({ name, values }) => [name, ...kinds.map(({ id }) => seconds(values[id] ?? 0))]),
});

function* flow(measurements, all) {
  const { load_s } = measurements;
  const found = all.map((stream) => ({ stream, limits: limits(stream.tcp) }));
  const bars = found.map(({ stream, limits: known }) => {
    const values = Object.fromEntries(Object.entries(known).map(([id, us]) => [id, sum(us) / 1e6]));
    return { name: `${stream.stream}`, values: { ...values, silent: Math.max(0, load_s - sum(Object.values(values))) } };
  });
  yield figure({
    id: "flow",
    title: "What held each connection back, as TCP counted it",
    says: inWords(bars, FLOW_LIMITS, load_s * bars.length),
    legend: FLOW_LIMITS,
    draw: ({ width, isPaper }) => stackedBars({ width, isPaper, bars: drawnBars(bars, FLOW_LIMITS), most: load_s, format: seconds, isTime: true }),
    numbers: () => barNumbers(bars, FLOW_LIMITS),
  });
  if (measurements.steps > 1) {
    const step_us = measurements.step_ms * 1000;
    yield figure({
      id: "flow-over-time",
      title: "The same, over time",
      says: "Each lane is a connection; it is blank while the connection had nothing to send.",
      legend: [...FLOW_LIMITS.slice(0, 3), ...(all.some(({ ended_s }) => ended_s < load_s * 0.995) ? [IDLE] : [])],
      draw: ({ width, isPaper }) => {
        const factor = factorFor(measurements.steps, Math.min(width / 2, Math.max(80, 9000 / all.length)));
        const at = edges(measurements, factor);
        return lanes({
          width,
          isPaper,
          at,
          end_s: load_s,
          kinds: FLOW_LIMITS.slice(0, 3),
          lanes: found.map(({ stream, limits: known }) => ({
            name: `${stream.stream}`,
            end_s: stream.ended_s,
            note: `stream ${stream.stream}: ${bytes(median(stream.tcp.delivery_rate))}/s acknowledged`,
            shares: Object.fromEntries(
              Object.entries(known).map(([id, us]) => [
                id,
                together(us, factor).map((part, index) => Math.min(1, part / Math.max(step_us / 10, (at[index + 1] - at[index]) * 1e6))),
              ]),
            ),
          })),
        });
      },
    });
  }
  const right = true;
  const busy = (values) => values.filter((value) => value > 0);
  yield [
    h("h3", null, "Round trips, rates and losses"),
    table(
      "Round trips, rates and losses of each connection",
      [
        { name: "Stream" },
        { name: "Peer" },
        { name: "Acknowledged, median", right },
        { name: "Round trip, median", right },
        { name: "least", right },
        { name: "Congestion window, median", right },
        { name: "Sent again", right },
        { name: "of segments", right },
      ],
      all.map(({ stream, tcp }) => {
        const again = sum(tcp.segments_sent_again);
        const sent = sum(tcp.segments_sent);
        return [
          `${stream}`,
          tcp.is_loopback ? "this machine" : "another machine",
          `${bytes(median(busy(tcp.delivery_rate)))}/s`,
          `${(median(busy(tcp.round_trip_us)) / 1000).toFixed(2)} ms`,
          `${(tcp.round_trip_min_us / 1000).toFixed(2)} ms`,
          bytes(median(busy(tcp.congestion_window_bytes))),
          `${again}`,
          sent > 0 ? `${((again / sent) * 100).toFixed(3)} %` : "",
        ];
      }),
    ),
  ];
}

/** What the server's processes were seen doing. */
function backends(measurements) {
  const all = measurements.streams.filter(({ backend }) => backend && sum(backend.samples.map(({ samples }) => samples)) > 0);
  if (all.length === 0) return null;
  const bars = all.map(({ stream, backend }) => {
    const values = {};
    for (const { state, samples } of backend.samples) values[`state_${state}`] = (values[`state_${state}`] ?? 0) + samples;
    return { name: `${stream}`, values };
  });
  const kinds = STATES.filter(({ id }) => bars.some(({ values }) => values[id] > 0));
  const whole = sum(bars.flatMap(({ values }) => Object.values(values)));
  const most = Math.max(...bars.map(({ values }) => sum(Object.values(values))));
  const samples = (value) => counted(value, "sample");
  const blockers = [...new Set(all.flatMap(({ backend }) => backend.blockers ?? []))];
  return [
    figure({
      id: "backends",
      title: "What the server's process of each stream was doing when it was sampled",
      says: `${samples(whole)}, one each ${measurements.server?.sample_ms ?? "?"} ms. ${inWords(bars, kinds, whole).replace("connections' time", "samples")}`,
      legend: kinds,
      draw: ({ width, isPaper }) => stackedBars({ width, isPaper, bars: drawnBars(bars, kinds), most, format: (value) => `${value}`, label: "samples →" }),
      numbers: () => {
        const right = true;
        return {
          columns: [
            { name: "Stream" },
            { name: "Process", right },
            ...kinds.map(({ name }) => ({ name, right })),
            { name: "Wait events, the most frequent first" },
          ],
          rows: all.map(({ stream, backend }, index) => [
            `${stream}`,
            `${backend.process_id}`,
            ...kinds.map(({ id }) => `${bars[index].values[id] ?? 0}`),
            backend.events.slice(0, 6).map(([name, times]) => `${name} ${times}`).join(", "),
          ]),
        };
      },
    }),
    blockers.length > 0 && [h("h3", null, "The holders of the locks that they waited for"), h("ul", { class: "mono" }, blockers.map((each) => h("li", null, each)))],
  ];
}
