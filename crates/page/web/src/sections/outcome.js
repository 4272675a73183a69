// The outcome of a run in words, and the next step.

import { bytes, count, counted, seconds, sum } from "../format.js";

const rowsOf = (units) => sum(units.map((unit) => unit.account.rows_loaded));

const stagedUnits = (report) => (report.units ?? []).filter((unit) => !unit.straight);

/** Rows that went straight into targets, where each split is committed for itself. */
const rowsStraight = (report) => rowsOf((report.units ?? []).filter((unit) => unit.straight));

/** The server and all that it had ended with the command. */
const isGone = (report) => report.embedded && !report.embedded.data_folder;

/** What a stopped run has in the database for the next one, beside what went straight into targets. */
function kept(report) {
  const units = stagedUnits(report);
  const finished = units.filter((unit) => unit.finished);
  // If several streams fill a unit, each range of a file is committed on its own.
  const begun = units.filter((unit) => unit.shared && !unit.finished && unit.account.rows_loaded > 0);
  const what = [
    finished.length > 0 && `${finished.length} of ${counted(units.length, "unit")}`,
    begun.length > 0 && `parts of ${finished.length > 0 ? `${begun.length} more` : counted(begun.length, "unit")}`,
  ].filter(Boolean);
  if (what.length === 0) {
    return rowsStraight(report) > 0 ? null : "No unit was committed; the same command starts from the beginning.";
  }
  return (
    `Kept: ${what.join(" and ")}, ${counted(rowsOf([...finished, ...begun]), "row")} in staging tables. ` +
    "The same command resumes from there; data from a pipe has to be sent again."
  );
}

/** What is where after a run that did not come to its end. */
function left(report) {
  if (isGone(report)) {
    return ["The embedded server and its data are gone; embedded:FOLDER keeps them, and the same command resumes."];
  }
  const rows = rowsStraight(report);
  if (rows === 0) return [`The targets are as they were. ${kept(report)}`];
  return [
    `${counted(rows, "row")} were written directly to their target (atomic = false) and stay there; the same command loads the rest.`,
    kept(report),
  ];
}

/** What a run that did not come to its end did to the targets. */
const switched = (report) =>
  rowsStraight(report) > 0 && !isGone(report) ? "some rows are in their target already" : "nothing was switched in";

const TOO_MANY =
  "More rows were rejected than the flow allows. Fix them in the files, or let the flow accept more (`rejects` in the " +
  "package, or --max-rejects), then give the same command again.";

const DIFFERS =
  "The rows read differ from the rows in the destination, or from the files' trailer or control file. Find out which is wrong " +
  "(the error names the table, the column or the file) before you load again.";

function mend(report) {
  const hint = report.hint && `${report.hint[0].toUpperCase()}${report.hint.slice(1)}.`;
  const show = `inrush rejects show ${report.run}`;
  switch (report.exit_status) {
    case 4:
      return [
        // The option is only for `inrush load`; a package has its own setting.
        hint && !hint.includes("--max-rejects") ? hint : TOO_MANY,
        ["The reasons are shown below, and in full in ", { code: show }, "."],
      ];
    case 5:
      return [hint ?? DIFFERS];
    default:
      return [hint ?? "Fix the cause that the error names, then give the same command again."];
  }
}

/** `{ look, word, sentence, todo }`; `look` is good, fair, bad or calm. */
export function outcome(report) {
  const { account } = report;
  const rows = counted(account.rows_loaded, "row");
  const tables = counted(report.tables.length, "table");
  switch (report.outcome) {
    case "loaded": {
      const took = `${rows} into ${tables} in ${seconds(report.phases.total_s)}`;
      if (account.rows_rejected === 0) {
        return { look: "good", word: "Loaded", sentence: `Loaded ${took}`, todo: [] };
      }
      return {
        look: "fair",
        word: "Loaded, with rejects",
        sentence: `Loaded ${took}; ${count(account.rows_rejected)} rejected`,
        todo: [
          [
            `${counted(account.rows_rejected, "row")} could not be loaded and are in the run's folder (rejects/). Fix them there, then `,
            { code: `inrush rejects replay ${report.run}` },
            " loads them.",
          ],
        ],
      };
    }
    case "already_loaded":
      return {
        look: "calm",
        word: "Loaded already",
        sentence: `Nothing to do: ${rows} in ${tables} were loaded by an earlier run`,
        todo: [["These files are in their targets. ", { code: "--again" }, " would load them again."]],
      };
    case "interrupted":
      return {
        look: "bad",
        word: "Interrupted",
        sentence: `Stopped after ${seconds(report.phases.total_s)}; ${switched(report)}`,
        todo: left(report),
      };
    default:
      return {
        look: "bad",
        word: "Failed",
        sentence: `Failed after ${seconds(report.phases.total_s)}; ${switched(report)}`,
        todo: [...mend(report), ...left(report)],
      };
  }
}

/** What the rows of an account are called, by where they are. */
function rowsWord(report) {
  if (report.outcome === "loaded") return "rows loaded";
  if (report.outcome === "already_loaded") return "rows, by an earlier run";
  const straight = rowsStraight(report);
  if (straight === 0) return "rows staged";
  return straight === report.account.rows_loaded ? "rows that went in" : "rows staged or in targets";
}

/** What this attempt has loaded of the account. That of a resumed run also has the rows of earlier attempts, which took none of its time. */
function ofThisAttempt({ account, units, resumed }) {
  if (!resumed) return { rows: account.rows_loaded, bytes: account.bytes_read };
  const sum = (part) => units.reduce((all, unit) => all + part(unit), 0);
  return {
    rows: sum((unit) => Math.min(unit.meter.rows, unit.account.rows_loaded)),
    bytes: sum((unit) => Math.min(unit.meter.text_bytes, unit.account.bytes_read)),
  };
}

/** The figures that everybody asks for first. */
export function figures(report) {
  const { account, phases } = report;
  const attempt = ofThisAttempt(report);
  const per_s = (amount) => amount / phases.load_s;
  const made = [
    [rowsWord(report), count(account.rows_loaded)],
    ["rejected", count(account.rows_rejected)],
    ["text", bytes(account.bytes_read)],
  ];
  if (report.outcome === "already_loaded") return made;
  made.push(["from command to end", seconds(phases.total_s)]);
  if (phases.load_s > 0 && attempt.rows > 0) {
    made.push(
      ["rows/s while loading", count(per_s(attempt.rows))],
      ["of text while loading", `${bytes(per_s(attempt.bytes))}/s`],
    );
  }
  return made;
}
