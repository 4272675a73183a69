import { h, opened, section, table } from "../dom.js";
import { bytes, count, counted, readable, sum } from "../format.js";
import { steps } from "./steps.js";

// Older reports have neither these numbers nor such rows.
const filtered = (account) => account.rows_filtered ?? 0;
const added = (account) => account.rows_added ?? 0;

const adds = (account) =>
  account.rows_read + added(account) === account.rows_loaded + account.rows_rejected + account.rows_skipped + filtered(account);

/** The account as an equation; rows that were added or filtered are named where there are any. */
const equation = (account) => {
  const side = (parts) => parts.map(([number, word]) => `${count(number)} ${word}`).join(" + ");
  const some = (number, word) => (number > 0 ? [[number, word]] : []);
  const came = side([[account.rows_read, "read"], ...some(added(account), "added")]);
  const went = side([
    [account.rows_loaded, "loaded"],
    [account.rows_rejected, "rejected"],
    [account.rows_skipped, "skipped"],
    ...some(filtered(account), "filtered"),
  ]);
  return `${came} ${adds(account) ? "=" : "is not"} ${went}`;
};

const check = (holds, text) =>
  h("li", { class: holds ? "holds" : "fails" }, h("span", { class: "mark", "aria-hidden": "true" }, holds ? "✓" : "✕"), h("span", { class: "hidden" }, holds ? "Holds: " : "Does not hold: "), text);

/** What holds, or does not, of the account. */
function checks(report) {
  const { account } = report;
  const made = [
    check(adds(account), equation(account)),
  ];
  if (report.tables.length > 1) {
    const wrong = report.tables.filter((each) => !adds(each.account)).length;
    made.push(check(wrong === 0, wrong === 0 ? "the account of each table adds up as well" : `the account of ${counted(wrong, "table")} does not add up`));
  }
  const counts = report.units.filter((unit) => unit.rows_counted !== null && unit.rows_counted !== undefined);
  if (counts.length > 0) {
    const own = sum(counts.map((unit) => unit.rows_counted));
    const differing = counts.filter((unit) => unit.rows_counted !== unit.account.rows_loaded).length;
    const of = counts.length === report.units.length ? counted(counts.length, "unit") : `${counts.length} of ${counted(report.units.length, "unit")}`;
    made.push(
      check(
        differing === 0,
        differing === 0
          ? `the destination's own count of ${of} agrees: ${counted(own, "row")}`
          : `the destination counts other rows than were sent in ${counted(differing, "unit")}`,
      ),
    );
  }
  return h("ul", { class: "checks" }, made);
}

/** A number that leads to the reasons; alone, it would say nothing to who hears a list of links. */
const rejected = (account, name) =>
  h(
    "a",
    { class: "some", href: "#rejects", "aria-label": `${counted(account.rows_rejected, "rejected row")}: ${name}` },
    count(account.rows_rejected),
  );

/** Rows of all tables: what was read, and what became of it. */
export function accountOfRows(report) {
  const more = report.tables.some(({ rows_updated }) => rows_updated !== null && rows_updated !== undefined);
  const isAdded = added(report.account) > 0;
  const isFiltered = filtered(report.account) > 0;
  const columns = [
    { name: "Table" },
    { name: "Flow" },
    { name: "Read", right: true },
    ...(isAdded ? [{ name: "Added", right: true }] : []),
    { name: "Loaded", right: true },
    ...(more ? [{ name: "Updated", right: true }] : []),
    { name: "Rejected", right: true },
    { name: "Skipped", right: true },
    ...(isFiltered ? [{ name: "Filtered", right: true }] : []),
    { name: "Text", right: true },
    { name: "As stored", right: true },
    { name: "Partitions", right: true },
  ];
  const cells = (name, flow, account, rows_updated, stored, partitions) => [
    name,
    flow,
    count(account.rows_read),
    ...(isAdded ? [count(added(account))] : []),
    count(account.rows_loaded),
    ...(more ? [rows_updated === null || rows_updated === undefined ? "" : count(rows_updated)] : []),
    account.rows_rejected > 0 ? rejected(account, name) : "0",
    count(account.rows_skipped),
    ...(isFiltered ? [count(filtered(account))] : []),
    bytes(account.bytes_read),
    bytes(stored),
    partitions,
  ];
  const rows = report.tables.map((each) =>
    cells(readable(each.target), each.flow, each.account, each.rows_updated, each.stored_bytes, each.partitions.length ? count(each.partitions.length) : "-"),
  );
  const footer =
    report.tables.length > 1
      ? [
          cells(
            "In all",
            "",
            report.account,
            more ? sum(report.tables.map((each) => each.rows_updated ?? 0)) : null,
            sum(report.tables.map((each) => each.stored_bytes)),
            count(sum(report.tables.map((each) => each.partitions.length))),
          ),
        ]
      : null;
  return section("account", "Account of rows", checks(report), table("Rows by table", columns, rows, footer), steps(report), changes(report), partitions(report));
}

function changes(report) {
  const rows = report.tables.flatMap((each) =>
    (each.changes ?? []).map((column) => [
      `${readable(each.target)}.${column.column}`,
      ...["truncated", "rounded", "defaulted", "nulled"].map((how) => count(column[how] ?? 0)),
    ]),
  );
  if (rows.length === 0) return null;
  const right = true;
  return [
    h("h3", null, "Values changed as the package declares"),
    table(
      "Values changed as the package declares",
      [{ name: "Column" }, { name: "Cut off", right }, { name: "Rounded", right }, { name: "Filled by the default", right }, { name: "Made NULL", right }],
      rows,
    ),
  ];
}

function partitions(report) {
  const rows = report.tables.flatMap((each) =>
    each.partitions.map((partition) => [partition.name, readable(each.target), partition.lower ?? "unbounded", partition.upper ?? "unbounded"]),
  );
  if (rows.length === 0) return null;
  return opened(`${counted(rows.length, "partition")} that this run attached`, () =>
    table("Partitions that this run attached", [{ name: "Partition" }, { name: "Of" }, { name: "From" }, { name: "To (not included)" }], rows),
  );
}
