// The names of things, and how they look. The colours are those of Okabe and Ito, which colour-blind people can tell
// apart, made darker or lighter where the background needs it; style.css has them. Waiting is hatched and work is
// plain, so that a print without colours shows the difference, too.

import { s } from "./dom.js";

const plain = (id, name, what) => ({ id, name, what, fill: `var(--${id})` });
const hatched = (id, name, what, turn) => ({ id, name, what, turn, fill: `url(#hatch-${id})` });

/** What comes after a lane's end. */
export const IDLE = { id: "idle", name: "nothing left to do", what: "idle until the last stream ended", turn: 45, fill: "url(#hatch-idle)" };

/** What a stream's thread does, in the order of the way of the data. */
export const PHASES = [
  plain("read", "read", "in the file system's read calls"),
  plain("decompress", "decompress", "decompressing, translating encodings, decoding typed files"),
  plain("scan", "scan", "finding record and field ends"),
  plain("convert", "convert", "turning fields into columns"),
  plain("transform", "steps", "passing rows through the steps of their flow"),
  plain("verify", "verify", "summing up what is verified"),
  plain("encode", "encode", "turning columns into the destination's bytes"),
  hatched("feed_wait", "wait for a file's reader", "waiting for a range of a file that one thread reads for all", 45),
  hatched("pace_wait", "wait for the pace", "held back by a rate that was asked for, or by replicas", 0),
  hatched("send_wait", "wait to send", "waiting until the connection took a block, and for the answer to a COPY", 135),
  hatched("verify_wait", "wait for the server's sums", "waiting until the server had summed up what is verified", 0),
  hatched("server_wait", "wait for the server", "making tables, counting, indexes, COMMIT", 90),
  plain("between", "between phases", "what is left of the time until the stream ended"),
];

/** What a thread does that reads a file for several streams. */
export const FEED_PHASES = PHASES.slice(0, 3);

/** What limits a connection, as the sender's side of TCP knows it. */
export const FLOW_LIMITS = [
  plain("path", "the path", "busy, held back by neither side: round trip, rate or loss of the network"),
  hatched("receiver", "the receiver", "held back by the window of the destination, which does not take bytes quickly enough", 135),
  hatched("send_buffer", "the send buffer", "held back by the loader's own send buffer", 45),
  plain("silent", "nothing to send", "no bytes on the way: the loader had none ready"),
];

/** Where a connection's time went where there is no TCP to ask. */
export const PIPELINE = [
  plain("source", "the source", "reading and decompressing, or waiting for a file's reader"),
  plain("work", "the loader's own work", "scanning, converting, the steps of flows, summing up, encoding"),
  hatched("pace_wait", "the pace", "a rate or replicas that were asked for", 0),
  hatched("send_wait", "sending", "waiting until the connection took a block", 135),
  hatched("server_wait", "the server's other work", "tables, counts, sums, indexes, COMMIT", 90),
  plain("between", "between phases", "what is left of the time until the stream ended"),
  IDLE,
];

/** What a run's time may go to. */
export const CAUSES = [
  plain("source_read", "reading the source", "reading files, or waiting for the rows of a source database without a known reason"),
  plain("source_database_cpu", "the source's CPU", "the backends of the source compute, or are given no CPU"),
  hatched("source_database_disk", "the source's disk", "the backends of the source read files", 90),
  hatched("source_database_network", "the network from the source", "rows that the network has not delivered", 45),
  plain("decompression", "decompression", "decompressing files"),
  plain("client_cpu", "the loader's CPU", "scanning, converting, encoding, or waiting for a CPU that other processes use"),
  plain("transform_cpu", "the steps of flows", "evaluating expressions and looking keys up"),
  hatched("network_latency", "network: latency", "the round trip, with windows too small for it", 0),
  hatched("network_rate", "network: rate", "what the link carries in a second", 90),
  hatched("network_loss", "network: loss", "segments that were lost and sent again", 45),
  plain("destination_cpu", "the destination's CPU", "the backends compute, or are given no CPU"),
  plain("destination_disk", "the destination's disk and WAL", "the backends write WAL or data files"),
  hatched("destination_locks", "the destination's locks", "the backends wait for locks", 135),
  hatched("coordination", "the long tail", "streams that had nothing to do while others still did", 45),
  hatched("pace", "the pace", "a rate or a replica that the package asks to wait for", 0),
  plain("undecided", "not told apart", "what the evidence does not tell apart"),
];

/** What becomes of the rows that reach a step; `field` is the count of the report. */
export const ROW_FLOW = [
  { ...plain("rows_out", "left the step", "rows that went on to the next step, or were loaded"), field: "rows_out" },
  { ...hatched("rows_filtered", "filtered", "rows that a condition did not keep, or that had the key of an earlier row", 45), field: "filtered" },
  { ...hatched("rows_rejected", "rejected", "rows that a check, a lookup or an expression refused", 135), field: "rejected" },
];

/** What a backend was seen doing. */
export const STATES = [
  plain("state_cpu", "computes", "no wait event"),
  hatched("state_client", "waits for the loader", "waits for the loader's bytes", 135),
  plain("state_wal", "WAL", "writing, flushing or inserting WAL"),
  plain("state_data_file", "data files", "reading, writing, extending, flushing data files"),
  hatched("state_lock", "a lock of another session", "waits for a lock that another session holds", 45),
  hatched("state_internal", "a lock inside the server", "waits for a lock inside the server", 90),
  hatched("state_idle", "idle", "between statements: it waits for the loader", 0),
  plain("state_other", "other", "anything else"),
];

/** Who had the machine's CPU. */
export const CPU = [
  plain("cpu_loader", "the loader", "this run's process"),
  plain("cpu_backends", "its backends", "the server's processes for this run"),
  plain("cpu_other", "everything else", "all other processes of the machine"),
  hatched("cpu_stolen", "taken by other machines", "time that the host gave to other machines", 45),
];

/** Parts of a run. */
export const RUN_PHASES = [
  plain("phase_plan", "plan", "reading files' sizes and the catalog"),
  plain("phase_load", "load", "from the first stream's start to the last one's end"),
  plain("phase_switch", "switch", "checking the account and switching"),
  plain("phase_analyze", "analyze", "ANALYZE"),
  plain("phase_rest", "the rest", "connecting, the ledger, the report"),
];

/** Colours of tables, the largest first; the last one is for all others together. */
export const SERIES = Array.from({ length: 8 }, (_, index) => `var(--series-${index + 1})`);

const HATCHED = [IDLE, ...PHASES, ...FEED_PHASES, ...FLOW_LIMITS, ...PIPELINE, ...CAUSES, ...ROW_FLOW, ...STATES, ...CPU].filter(
  ({ turn }) => turn !== undefined,
);

/** The patterns that hatched fills refer to, once for the whole page. */
export function patterns() {
  const known = new Map(HATCHED.map((kind) => [kind.id, kind]));
  return s(
    "svg",
    { class: "patterns", width: 0, height: 0, "aria-hidden": "true", focusable: "false" },
    s(
      "defs",
      null,
      [...known.values()].map(({ id, turn }) =>
        s(
          "pattern",
          { id: `hatch-${id}`, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: `rotate(${turn})` },
          s("rect", { width: 5, height: 5, fill: `var(--${id}-soft, var(--soft))` }),
          s("rect", { width: 2.5, height: 5, fill: `var(--${id})` }),
        ),
      ),
    ),
  );
}

/** A small square in a kind's look. */
export function swatch(fill) {
  return s("svg", { class: "swatch", width: 14, height: 14, "aria-hidden": "true", focusable: "false" }, s("rect", { width: 14, height: 14, rx: 2, fill }));
}
