import { h, section, table } from "../dom.js";
import { count, counted, readable } from "../format.js";

/** Examples that are shown of each cause. */
const EXAMPLES = 5;

/** Why rows were rejected, by cause and column, with examples and their places. */
export function rejects(report) {
  const all = report.rejects ?? [];
  const whole = report.account.rows_rejected;
  if (whole === 0 && all.length === 0) return null;
  const causes = new Map();
  for (const reject of all) {
    const key = JSON.stringify([reject.code, reject.column ?? null]);
    if (!causes.has(key)) causes.set(key, []);
    causes.get(key).push(reject);
  }
  const sorted = [...causes.values()].sort((one, other) => other.length - one.length);
  const tables = report.tables.filter((each) => each.account.rows_rejected > 0);
  const partly = all.length < whole;
  return section(
    "rejects",
    "Rejected rows",
    h(
      "p",
      { class: "lead" },
      `${counted(whole, "row")} rejected`,
      tables.length > 0 && `: ${tables.map((each) => `${count(each.account.rows_rejected)} of ${readable(each.target)}`).join(", ")}`,
      ". ",
      partly && all.length > 0 && `The report has the first ${count(all.length)} of them; all stand in the run's folder: `,
      !partly && "All of them, as they were in the files, are in the run's folder: ",
      partly && all.length === 0 && "They are in the run's folder: ",
      h("code", null, `inrush rejects show ${report.run}`),
      " tells why, ",
      h("code", null, `inrush rejects replay ${report.run}`),
      " loads them once they are fixed.",
    ),
    sorted.map((those) => cause(those, partly)),
  );
}

function cause(those, partly) {
  const [first] = those;
  const title = `${first.code.replaceAll("_", " ")}${first.column ? `, column ${first.column}` : ""}`;
  const shown = those.slice(0, EXAMPLES);
  const reasons = [...new Set(shown.map(({ reason }) => reason))];
  const more = those.length - shown.length;
  // A row of a table has no byte in a file: it is found by its key in the source.
  const hasKeys = shown.some(({ key }) => typeof key === "string");
  return h(
    "div",
    { class: "reject-cause" },
    h("h3", null, title, h("span", { class: "number" }, ` ${counted(those.length, "row")}${partly ? " of those shown here" : ""}`)),
    reasons.length === 1 && h("p", { class: "reason" }, reasons[0]),
    table(
      `Examples of ${title}`,
      [
        { name: "File" },
        { name: "Line", right: true },
        { name: "Byte", right: true },
        ...(hasKeys ? [{ name: "Key" }] : []),
        { name: "Value" },
        ...(reasons.length > 1 ? [{ name: "Reason", grow: true }] : []),
      ],
      shown.map((reject) => [
        reject.file,
        count(reject.line),
        count(reject.byte_offset),
        ...(hasKeys ? [keyOf(reject.key)] : []),
        value(reject.value),
        ...(reasons.length > 1 ? [reject.reason] : []),
      ]),
    ),
    more > 0 && h("p", { class: "more" }, `and ${count(more)} more of this cause`),
  );
}

/** A value as it was, so that spaces and control characters are seen. */
function value(text) {
  if (text === null || text === undefined) return h("span", { class: "none" }, "the whole row");
  if (text === "") return h("span", { class: "none" }, "empty");
  return h("code", { class: "value" }, seen(text));
}

/** What finds the row in its source: `id = 17`. */
function keyOf(text) {
  return typeof text === "string" ? h("code", { class: "value" }, seen(text)) : "-";
}

/** Control characters, line ends and odd spaces by their code points; all else as it is. */
const seen = (text) =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u00a0]/gu, (found) => `\\u{${found.codePointAt(0).toString(16)}}`);
