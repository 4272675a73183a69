// Latencies, clients and costs of runs.

import { columns } from "../charts.js";
import { h, section, table } from "../dom.js";
import { figure } from "../figure.js";
import { count, counted } from "../format.js";
import { SERIES } from "../palette.js";
import { micro, middleRun, middleRuns, whole } from "./runs.js";

const right = true;

export function latencies(report) {
  const runs = middleRuns(report);
  if (runs.length === 0) return null;
  const rows = runs.flatMap((run) =>
    [
      [run.naive_latency ? "from the intended start" : "from sending", run.latency],
      ["naive, from sending", run.naive_latency],
    ]
      .filter(([, latency]) => latency)
      .map(([kind, latency]) => [
        count(run.clients),
        kind,
        ...["mean_us", "least_us", "p50_us", "p90_us", "p99_us", "p99_9_us", "p99_99_us", "most_us"].map((name) => micro(latency[name])),
      ]),
  );
  const behind = runs.filter(({ open_loop }) => open_loop && open_loop.behind_share > 0.01);
  return section(
    "latencies",
    "Latencies",
    h(
      "p",
      { class: "lead" },
      report.settings.rate === null
        ? "From sending a call to its answer. In a closed loop, a client that waits makes no other call, so a stall of the server counts once for each client."
        : "In an open loop, from the intended start of each call. The naive figure beside it leaves out the time that calls waited before they were sent.",
    ),
    behind.map((run) =>
      h(
        "p",
        { class: "undecided" },
        `${counted(run.clients, "client")} made ${whole(run.open_loop.rate_made)} of ${whole(run.open_loop.rate_asked)} calls per second; the last call began ${run.open_loop.late_s.toFixed(2)} s late.`,
      ),
    ),
    table(
      "Latencies, by clients",
      [{ name: "Clients" }, { name: "Counted" }, ...["mean", "least", "p50", "p90", "p99", "p99.9", "p99.99", "most"].map((name) => ({ name, right }))],
      rows,
    ),
    h("p", { class: "more" }, "Files with all latencies, in the log format of HdrHistogram: ", runs.flatMap(({ logs }) => logs).join(", ")),
  );
}

export function allClients(report) {
  const best = report.curve.find(({ is_best }) => is_best);
  if (!best) return null;
  const run = middleRun(report, best.clients);
  const { each } = run.all_clients;
  return section(
    "clients",
    "All clients ran",
    table(
      "Whether all clients ran, and how alike",
      [{ name: "Run" }, { name: "Asked", right }, { name: "Connected", right }, { name: "Finished", right }, { name: "Start spread", right }, { name: "Fairness", right }, { name: "Least/s", right }, { name: "Median/s", right }, { name: "Most/s", right }, { name: "Slowest client", right }],
      report.runs.map(({ clients, round, all_clients: all }) => [
        `${counted(clients, "client")}, round ${round}`,
        count(all.asked),
        count(all.connected),
        count(all.finished),
        `${all.start_spread_ms.toFixed(2)} ms`,
        all.fairness.toFixed(3),
        whole(all.least_per_s),
        whole(all.median_per_s),
        whole(all.most_per_s),
        `${all.slowest}`,
      ]),
    ),
    figure({
      id: "each-client",
      title: `Calls per second of each of ${counted(run.clients, "client")}`,
      says: `From ${whole(run.all_clients.least_per_s)} (client ${run.all_clients.slowest}) to ${whole(run.all_clients.most_per_s)}; Jain's fairness index is ${run.all_clients.fairness.toFixed(3)}.`,
      draw: ({ width }) =>
        columns({
          width,
          bars: each.map((client) => ({
            value: client.calls_per_s,
            fill: SERIES[0],
            title: `client ${client.client}: ${whole(client.calls_per_s)}/s, p99 ${micro(client.latency.p99_us)}`,
          })),
          label: "↑ calls/s",
          xLabel: "client →",
          format: whole,
        }),
      numbers: () => ({
        columns: [{ name: "Client" }, { name: "Process", right }, { name: "Calls", right }, { name: "Per second", right }, { name: "p50", right }, { name: "p99", right }, { name: "Longest", right }],
        rows: each.map((client) => [
          `${client.client}`,
          `${client.process}`,
          count(client.calls),
          whole(client.calls_per_s),
          micro(client.latency.p50_us),
          micro(client.latency.p99_us),
          micro(client.latency.most_us),
        ]),
      }),
    }),
  );
}

export function costs(report) {
  const runs = middleRuns(report);
  if (runs.length === 0) return null;
  const or = (value, write) => (value === null || value === undefined ? "-" : write(value));
  const two = (value) => value.toFixed(2);
  return section(
    "cost",
    "What a call costs",
    h("p", { class: "lead" }, "A call takes more than a round trip: TCP's round trip and the server's time are shown beside the whole. A dash means not measured. Packets and round trips are those of TCP."),
    table(
      "What a call costs, by clients",
      [{ name: "Clients" }, ...["Client CPU", "Server CPU", "WAL bytes", "Packets", "Client switches", "Server switches", "Calls/s per core", "Commits per flush", "Whole call", "Server's part", "TCP round trip"].map((name) => ({ name, right }))],
      runs.map(({ clients, cost, wal, round_trip }) => [
        count(clients),
        micro(cost.client_us),
        or(cost.server_us, micro),
        whole(cost.wal_bytes),
        or(cost.packets, two),
        two(cost.client_switches),
        or(cost.server_switches, two),
        or(cost.calls_per_s_per_core, whole),
        or(wal.commits_per_flush, two),
        micro(round_trip.call_us),
        or(round_trip.server_us, micro),
        or(round_trip.tcp_us, micro),
      ]),
    ),
    table(
      "CPU, by clients",
      [{ name: "Clients" }, ...["Clients' cores", "Server's cores", "Others' cores", "Waiting for a CPU", "Threads that want a CPU"].map((name) => ({ name, right }))],
      runs.map(({ clients, cpu }) => [count(clients), two(cpu.clients), or(cpu.server, two), two(cpu.others), two(cpu.clients_waiting), cpu.running.toFixed(1)]),
    ),
  );
}
