import { stackedBars } from "../charts.js";
import { h, section, table } from "../dom.js";
import { figure } from "../figure.js";
import { percent, seconds, sum } from "../format.js";
import { CAUSES, swatch } from "../palette.js";

const kindOf = (cause) => CAUSES.find(({ id }) => id === cause) ?? { id: cause, name: cause, what: "", fill: "var(--undecided)" };

/** All causes with their evidence, and each stream's time by cause. */
export function verdict(report) {
  const found = report.verdict;
  if (!found) return null;
  const right = true;
  const rows = found.causes.map(({ cause, share, seconds: spent, evidence }) => {
    const kind = kindOf(cause);
    return [
      h("span", { class: "cause" }, swatch(kind.fill), h("span", null, kind.name, h("small", null, kind.what))),
      percent(share),
      seconds(spent),
      evidence.length > 0 ? h("ul", { class: "evidence" }, evidence.map((each) => h("li", null, each))) : "none",
    ];
  });
  return section(
    "verdict",
    "The verdict in full",
    h("p", { class: "lead" }, "Shares are of the time of all streams, from the start of loading to its end."),
    table("Causes and their evidence", [{ name: "Cause" }, { name: "Share", right }, { name: "Stream time", right }, { name: "Evidence", grow: true }], rows),
    byStream(found),
  );
}

function byStream(found) {
  if (found.streams.length === 0) return null;
  const kinds = CAUSES.filter(({ id }) => found.streams.some(({ seconds: spent }) => spent.some(([cause, value]) => cause === id && value > 0)));
  const bars = found.streams.map(({ stream, seconds: spent }) => {
    const known = Object.fromEntries(spent);
    return { name: `${stream}`, known, parts: kinds.map((kind) => ({ kind, value: known[kind.id] ?? 0 })) };
  });
  const most = Math.max(...bars.map(({ parts }) => sum(parts.map(({ value }) => value))));
  const first = found.causes[0];
  const largestOf = bars.reduce((top, bar) => ((bar.known[first?.cause] ?? 0) > (top.known[first?.cause] ?? 0) ? bar : top), bars[0]);
  return figure({
    id: "causes",
    title: "Each stream's time by cause",
    says: first
      ? `The largest cause is ${kindOf(first.cause).name} with ${percent(first.share)} of all; stream ${largestOf.name} has the most of it, ${seconds(largestOf.known[first.cause] ?? 0)}.`
      : "",
    legend: kinds,
    draw: ({ width, isPaper }) => stackedBars({ width, isPaper, bars, most, format: seconds, isTime: true }),
    numbers: () => ({
      columns: [{ name: "Stream" }, ...kinds.map(({ name }) => ({ name, right: true }))],
      rows: bars.map(({ name, parts }) => [name, ...parts.map(({ value }) => seconds(value))]),
    }),
  });
}
