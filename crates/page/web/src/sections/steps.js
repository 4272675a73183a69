// The rows in the steps of each flow: how many rows left each step, and what happened to the others.

import { stackedBars } from "../charts.js";
import { h, table } from "../dom.js";
import { figure } from "../figure.js";
import { count, counted, sum } from "../format.js";
import { ROW_FLOW } from "../palette.js";

/** Flows that get a picture of their own; the table has all. */
const PICTURES_MAX = 8;

/** Rows that come in and out of each step; null for a report whose flows have none. */
export function steps(report) {
  const flows = report.tables.filter((each) => (each.steps ?? []).length > 0);
  if (flows.length === 0) return null;
  return [h("h3", null, "Rows through the steps"), ...flows.slice(0, PICTURES_MAX).map(rowFlow), stepsTable(flows), unmatchedKeys(flows)];
}

/** One flow as bars: each step with the rows that reached it. */
function rowFlow(flow, number) {
  const bars = flow.steps.map((step, index) => ({
    name: `${index + 1}: ${step.step}`,
    parts: ROW_FLOW.map((kind) => ({ kind, value: step[kind.field] ?? 0 })),
  }));
  const kinds = ROW_FLOW.filter((kind) => flow.steps.some((step) => (step[kind.field] ?? 0) > 0));
  const [first] = flow.steps;
  const last = flow.steps.at(-1);
  const filtered = sum(flow.steps.map((step) => step.filtered));
  const rejected = sum(flow.steps.map((step) => step.rejected));
  const added = sum(flow.steps.map((step) => step.added ?? 0));
  return figure({
    id: `row-flow-${number + 1}`,
    title: `Rows of ${flow.flow} through its steps`,
    says: `${counted(first.rows_in, "row")} reached the first step, ${count(last.rows_out)} left the last one; ${added > 0 ? `${count(added)} added, ` : ""}${count(filtered)} filtered, ${count(rejected)} rejected.`,
    legend: kinds,
    draw: ({ width, isPaper }) =>
      stackedBars({ width, isPaper, bars, most: Math.max(1, ...flow.steps.map((step) => step.rows_in + (step.added ?? 0))), format: count, label: "rows" }),
  });
}

function stepsTable(flows) {
  const fields = ["rows_in", "added", "rows_out", "filtered", "rejected", "warned", "unmatched"];
  const rows = flows.flatMap((each) =>
    each.steps.map((step, index) => [each.flow, `${index + 1}: ${step.step}`, step.what, ...fields.map((name) => count(step[name] ?? 0))]),
  );
  const heads = ["In", "Added", "Out", "Filtered", "Rejected", "Warned", "Without a match"];
  return table(
    "Rows through the steps",
    [{ name: "Flow" }, { name: "Step" }, { name: "Condition or columns" }, ...heads.map((name) => ({ name, right: true }))],
    rows,
  );
}

function unmatchedKeys(flows) {
  const rows = flows.flatMap((each) =>
    each.steps.flatMap((step, index) => (step.unmatched_keys ?? []).map(({ key, rows }) => [each.flow, `${index + 1}: ${step.step}`, step.what, key, count(rows)])),
  );
  if (rows.length === 0) return null;
  return table(
    "Keys that lookups did not find",
    [{ name: "Flow" }, { name: "Step" }, { name: "Reference" }, { name: "Key" }, { name: "Rows", right: true }],
    rows,
  );
}
