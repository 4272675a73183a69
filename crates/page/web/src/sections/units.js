import { columns } from "../charts.js";
import { h, opened, section, table } from "../dom.js";
import { figure } from "../figure.js";
import { brief, bytes, count, counted, median, seconds } from "../format.js";
import { SERIES } from "../palette.js";

/** Units that are listed without asking. */
const LISTED = 12;

const right = true;

const state = (unit) =>
  [
    unit.finished ? "committed" : "not committed",
    unit.kept && "kept from an earlier attempt",
    unit.shared && "filled by several streams",
    unit.straight && "straight into the target",
    unit.careful && "loaded carefully, since the server refused a row",
  ]
    .filter(Boolean)
    .join(", ");

/** A unit's files, each once: one that is loaded in ranges is named for each of them. */
function filesOf(unit) {
  const files = [...new Set(unit.files)];
  return files.length > 3 ? `${files.slice(0, 2).join(", ")} and ${files.length - 2} more` : files.join(", ");
}

/** Load units: what each held, and how long it took. */
export function units(report) {
  const all = report.units ?? [];
  if (all.length === 0) return null;
  const flows = [...new Set(all.map(({ flow }) => flow))];
  const colour = (flow) => SERIES[Math.min(flows.indexOf(flow), SERIES.length - 1)];
  const busy = (unit) => unit.meter.busy_ns / 1e9;
  const loaded = all.filter((unit) => !unit.kept && busy(unit) > 0);
  const list = () =>
    table(
      "All load units",
      [
        { name: "Unit" },
        { name: "Files", grow: true },
        { name: "Loaded", right },
        { name: "Rejected", right },
        { name: "Counted", right },
        { name: "Text", right },
        { name: "Stream time", right },
        { name: "Text per second", right },
        { name: "State" },
        { name: "Staging table" },
      ],
      all.map((unit) => [
        `${unit.flow} ${unit.unit}`,
        filesOf(unit),
        count(unit.account.rows_loaded),
        count(unit.account.rows_rejected),
        unit.rows_counted === null || unit.rows_counted === undefined ? "-" : count(unit.rows_counted),
        bytes(unit.account.bytes_read),
        unit.kept ? "-" : seconds(busy(unit)),
        !unit.kept && busy(unit) > 0 ? `${bytes(unit.meter.text_bytes / busy(unit))}/s` : "-",
        state(unit),
        h("span", { class: "mono" }, unit.staging_table),
      ]),
    );
  return section(
    "units",
    "Load units",
    loaded.length > 1 && chart(loaded, flows, colour, busy),
    all.length > LISTED ? opened(`${counted(all.length, "load unit")} with files, rows and times`, list) : list(),
  );
}

function chart(loaded, flows, colour, busy) {
  const middle = median(loaded.map(busy));
  const slowest = loaded.reduce((slow, unit) => (busy(unit) > busy(slow) ? unit : slow));
  const shown = flows.slice(0, SERIES.length);
  return figure({
    id: "unit-times",
    title: "How long each unit took",
    says: `Half of the units took ${seconds(middle)} of stream time or more; the longest was ${brief(slowest.flow)} ${slowest.unit} with ${seconds(busy(slowest))} (${brief(slowest.files[0] ?? "no file")}).`,
    legend: shown.map((flow, index) => ({
      name: index === SERIES.length - 1 && flows.length > SERIES.length ? `${flows.length - index} other flows` : brief(flow),
      fill: SERIES[index],
    })),
    draw: ({ width }) =>
      columns({
        width,
        bars: loaded.map((unit) => ({ value: busy(unit), fill: colour(unit.flow), title: `${brief(unit.flow)} ${unit.unit}: ${seconds(busy(unit))}` })),
        label: "↑ stream time",
        xLabel: "units, in the order of the plan →",
        line: { name: `median ${seconds(middle)}`, value: middle },
      }),
    numbers: () => ({
      columns: [{ name: "Unit" }, { name: "Stream time", right }],
      rows: loaded.map((unit) => [`${unit.flow} ${unit.unit}`, seconds(busy(unit))]),
    }),
  });
}
