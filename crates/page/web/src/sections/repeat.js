import { facts, h, section, table } from "../dom.js";
import { bytes, count, moment, seconds, sum } from "../format.js";

const mono = (text) => h("span", { class: "mono" }, text);

/** What a stranger needs to repeat the run. */
export function repeat(report) {
  const { machine, server, embedded } = report;
  const run = report.run;
  return section(
    "repeat",
    "To repeat this run",
    run && report.outcome !== "already_loaded" &&
      h(
        "p",
        { class: "lead" },
        "The run's folder has its package, which contains what was guessed from the files, and no secrets. ",
        h("code", null, `inrush check ${run}/package.toml`),
        " prints the plan, ",
        h("code", null, `inrush run ${run}/package.toml --streams ${Math.max(1, report.streams.length)} --again`),
        " runs it once more, from the folder of runs; files with relative names are looked for beside the package.",
      ),
    facts([
      ["Inrush", report.inrush_version],
      ["Package", report.package],
      ["Package hash (SHA-256, secrets left out)", mono(report.package_hash)],
      ["Plan hash (SHA-256 of its statements)", mono(report.plan_hash)],
      ["Run", mono(run || "none")],
      ["Destination", mono(report.destination)],
      ["Began", moment(report.started_at)],
      ["Ended", moment(report.finished_at)],
      ["Exit status", `${report.exit_status}`],
      ["Streams", count(report.streams.length)],
      ["Files, as stored", bytes(sum(report.tables.map((each) => each.stored_bytes)))],
      ["Continued an earlier attempt", report.resumed ? "yes" : null],
      ["Corrected rejects of run", report.replays && mono(report.replays)],
    ]),
    h("h3", null, "The loader's machine"),
    facts([
      ["Processor", machine.processor],
      ["Cores that the loader may use", count(machine.cores)],
      ["Memory", bytes(machine.memory_bytes)],
      ["Kernel", machine.kernel],
      ["Memory of the loader at most", bytes(machine.loader_memory_peak_bytes)],
      ["CPU time of the loader", `${seconds(machine.loader_cpu_s[0])} user, ${seconds(machine.loader_cpu_s[1])} system`],
    ]),
    h("h3", null, "The server"),
    facts([["Version", server.version], ["Embedded PostgreSQL", embedded && embedded.version], ["Its data", embedded && (embedded.data_folder ?? "gone after the run")]]),
    server.settings.length > 0 &&
      table(
        "Settings of the server that matter to a load",
        [{ name: "Setting" }, { name: "Value" }],
        server.settings.map(([name, value]) => [name, value]),
      ),
    embedded &&
      embedded.settings.length > 0 && [
        h("h3", null, "Settings of the embedded server"),
        table(
          "Settings of the embedded server, and their reasons",
          [{ name: "Setting" }, { name: "Value" }, { name: "Why", grow: true }],
          embedded.settings.map(({ name, value, why }) => [name, value, why]),
        ),
      ],
  );
}

/** What a user should know beside all that. */
export function notes(report) {
  if (report.notes.length === 0) return null;
  return section("notes", "Notes", h("ul", { class: "notes" }, report.notes.map((note) => h("li", null, note))));
}
