// How a run ended, in words for whoever was not there, and what to do next.

import { bytes, count, counted, seconds, sum } from "../format.js";

const stagedUnits = (report) => (report.units ?? []).filter((unit) => unit.finished && !unit.straight);

/** What a stopped run has in the database for the next one. */
function kept(report) {
  if (report.embedded && !report.embedded.data_folder) {
    return "The embedded server and its data went with the command; with embedded:FOLDER they stay, and the same command goes on.";
  }
  const units = stagedUnits(report);
  if (units.length === 0) return "No unit was committed; the same command begins anew.";
  const rows = sum(units.map((unit) => unit.account.rows_loaded));
  return (
    `Kept: ${units.length} of ${counted(report.units.length, "unit")}, ${counted(rows, "row")} in staging tables. ` +
    "The same command goes on from there; what came through a pipe has to be sent once more."
  );
}

/** What went straight into targets and stays there. */
function straight(report) {
  const rows = sum((report.units ?? []).filter((unit) => unit.straight).map((unit) => unit.account.rows_loaded));
  return rows > 0
    ? `${counted(rows, "row")} went straight into their target (atomic = false) and stay there; the same command loads the rest.`
    : null;
}

const TOO_MANY =
  "More rows were rejected than the flow allows. Mend them in the files, or let the flow accept more (`rejects` in the " +
  "package, or --max-rejects), then give the same command again.";

const DIFFERS =
  "What the destination holds, or what the files promise, is not what was read. Find out which of them is wrong (the error " +
  "names the table, the column or the file) before you load again.";

function mend(report) {
  const hint = report.hint && `${report.hint[0].toUpperCase()}${report.hint.slice(1)}.`;
  const show = `inrush rejects show ${report.run}`;
  switch (report.exit_status) {
    case 4:
      return [
        // An option is of use to `inrush load` alone; a package says how many it accepts.
        hint && !hint.includes("--max-rejects") ? hint : TOO_MANY,
        ["Why they were rejected stands below, and all of it in ", { code: show }, "."],
      ];
    case 5:
      return [hint ?? DIFFERS];
    default:
      return [hint ?? "Mend what the error names, then give the same command again."];
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
            `${counted(account.rows_rejected, "row")} could not be loaded and stand in the run's folder (rejects/). Mend them there, then `,
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
        todo: [["These files are in their targets. ", { code: "--again" }, " would load them anew."]],
      };
    case "interrupted":
      return {
        look: "bad",
        word: "Interrupted",
        sentence: `Stopped after ${seconds(report.phases.total_s)}; nothing was switched in`,
        todo: [straight(report), `The targets are as they were. ${kept(report)}`],
      };
    default:
      return {
        look: "bad",
        word: "Failed",
        sentence: `Failed after ${seconds(report.phases.total_s)}; nothing was switched in`,
        todo: [...mend(report), straight(report), `${straight(report) ? "" : "The targets are as they were. "}${kept(report)}`],
      };
  }
}

/** The figures that everybody asks for first. */
export function figures(report) {
  const { account, phases } = report;
  const ended = report.outcome === "loaded";
  const per_s = (amount) => amount / phases.load_s;
  const made = [
    [ended ? "rows loaded" : report.outcome === "already_loaded" ? "rows, by an earlier run" : "rows staged", count(account.rows_loaded)],
    ["rejected", count(account.rows_rejected)],
    ["text", bytes(account.bytes_read)],
  ];
  if (report.outcome === "already_loaded") return made;
  made.push(["from command to end", seconds(phases.total_s)]);
  if (phases.load_s > 0 && account.rows_loaded > 0) {
    made.push(
      ["rows/s while loading", count(per_s(account.rows_loaded))],
      ["of text while loading", `${bytes(per_s(account.bytes_read))}/s`],
    );
  }
  return made;
}
