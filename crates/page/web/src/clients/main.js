// The page of `inrush bench inserts` and `inrush bench calls`, made of results.json alone.

import { facts, h, section, table } from "../dom.js";
import { bytes, count, counted, moment, seconds } from "../format.js";
import { curve, states } from "./curve.js";
import { allClients, costs, latencies } from "./tables.js";
import { middleRun, micro, whole } from "./runs.js";
import { overTime } from "./time.js";

export const CLIENT_PARTS = [limits, curve, states, overTime, latencies, allClients, costs, published, repeat, notes];

/** Whether it is such a page, and not that of a load. */
export const isOfClients = (report) => report?.workload === "inserts" || report?.workload === "calls";

export const clientTitle = (report) => `Inrush: bench ${report.workload}, ${moment(report.started_at)}`;

/** What came of it, in five seconds. */
export function clientHeadline(report) {
  const best = report.curve.find(({ is_best }) => is_best);
  const failed = report.failed.length > 0;
  const look = failed ? "bad" : report.complete ? "good" : "fair";
  const word = failed ? "Failed" : report.complete ? "Measured" : "Not complete";
  const sentence = best
    ? `${counted(best.clients, "client")} made the most: ${whole(best.calls_per_s)} ${report.workload} per second.`
    : "No run has ended yet.";
  const run = best && middleRun(report, best.clients);
  const tiles = best
    ? [
        [`${report.workload} per second`, whole(best.calls_per_s)],
        ["clients", count(best.clients)],
        ["half of the calls within", micro(best.p50_us)],
        ["99 % within", micro(best.p99_us)],
        ["fairness (1 is equal)", best.fairness.toFixed(3)],
        ["clients that did their share", `${run.all_clients.finished} of ${run.all_clients.asked}`],
      ]
    : [];
  return h(
    "header",
    { class: `headline ${look}` },
    h(
      "div",
      { class: "outcome" },
      h("span", { class: "badge" }, word),
      h("span", { class: "which" }, `bench ${report.workload} · ${moment(report.started_at)}`),
    ),
    h("h1", null, sentence),
    h("p", { class: "where" }, "to ", h("span", { class: "mono" }, report.server.destination), ` by ${report.server.way}`),
    report.failed.map((each) =>
      h(
        "div",
        { class: "error", role: "note", "aria-label": "What went wrong" },
        h("h2", null, `${counted(each.clients, "client")}, round ${each.round}: there is no result`),
        h("pre", null, each.reason),
      ),
    ),
    h("dl", { class: "tiles" }, tiles.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value)))),
  );
}

function limits(report) {
  const { verdict } = report;
  if (!verdict) return null;
  return section(
    "limits",
    "What limits",
    h("p", { class: "line" }, verdict.line),
    h("ul", { class: "evidence" }, verdict.evidence.map((each) => h("li", null, each))),
    h("p", { class: "advice" }, h("strong", null, "What to change: "), `${verdict.change.replace(/\.$/, "")}.`),
  );
}

function published(report) {
  const right = true;
  return section(
    "published",
    "Published figures",
    table(
      "Published figures of the same workload",
      [{ name: "Run" }, { name: "Machine", grow: true }, { name: "Clients", right }, { name: "Seconds", right }, { name: "What the account says", grow: true }],
      report.published.map((each) => [
        `${each.years}: ${each.what}`,
        each.machine,
        each.clients === null ? "" : count(each.clients),
        each.seconds === null ? "" : count(each.seconds),
        each.says,
      ]),
    ),
    h("ul", { class: "notes" }, [...new Set(report.published.map(({ source }) => source))].map((source) => h("li", null, source))),
  );
}

function repeat(report) {
  const { machine, server, settings } = report;
  return section(
    "repeat",
    "To repeat this measurement",
    h("p", { class: "lead" }, h("code", null, report.command)),
    facts([
      ["Inrush", report.inrush_version],
      ["Call", settings.what],
      ["Statement", h("span", { class: "mono" }, settings.statement)],
      ["Protocol", settings.protocol],
      ["Rows in a statement", count(settings.batch)],
      ["Statements in a transaction", count(settings.commit_every)],
      ["Calls in flight for each client", count(settings.pipeline)],
      ["Calls per second that were asked for", settings.rate === null ? null : count(settings.rate)],
      ["Threads of the clients", count(settings.threads)],
      ["CPUs of the clients", settings.cpus.length > 0 ? settings.cpus.join(", ") : null],
      ["Endpoints", settings.endpoints.length > 0 ? settings.endpoints.join(", ") : null],
      ["Began", moment(report.started_at)],
      ["Ended", moment(report.finished_at)],
    ]),
    h("h3", null, "The clients' machine"),
    facts([
      ["Processor", machine.processor],
      ["Cores", count(machine.cores)],
      ["Memory", bytes(machine.memory_bytes)],
      ["Kernel", machine.kernel],
    ]),
    h("h3", null, "The server"),
    facts([["Version", server.version]]),
    table("Settings of the server", [{ name: "Setting" }, { name: "Value" }], server.settings),
    table(
      "Runs, and other work on the machine",
      [{ name: "Run" }, { name: "Began" }, { name: "Took", right: true }, { name: "Warm-up", right: true }, { name: "A fixed piece of work before", right: true }, { name: "Cores of others", right: true }],
      report.runs.map((run) => [
        `${counted(run.clients, "client")}, round ${run.round}`,
        moment(run.started_at),
        seconds(run.seconds),
        seconds(run.warm_up_s),
        `${run.calm_ms.toFixed(1)} ms`,
        (run.cpu.others + run.cpu.stolen).toFixed(2),
      ]),
    ),
  );
}

function notes(report) {
  if (report.notes.length === 0) return null;
  return section("notes", "Notes", h("ul", { class: "notes" }, report.notes.map((note) => h("li", null, note))));
}
