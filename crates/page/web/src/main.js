// The page of a run, made of its report alone.

import { CLIENT_PARTS, clientHeadline, clientTitle, isOfClients } from "./clients/main.js";
import { h, section } from "./dom.js";
import { drawAll, keepDrawn } from "./figure.js";
import { patterns } from "./palette.js";
import { accountOfRows } from "./sections/account.js";
import { connections } from "./sections/connections.js";
import { headline, limits } from "./sections/headline.js";
import { streams } from "./sections/lanes.js";
import { machine } from "./sections/machine.js";
import { phases } from "./sections/phases.js";
import { rejects } from "./sections/rejects.js";
import { notes, repeat } from "./sections/repeat.js";
import { throughput } from "./sections/throughput.js";
import { units } from "./sections/units.js";
import { verdict } from "./sections/verdict.js";
import { themeChoice } from "./theme.js";

const PARTS = [limits, accountOfRows, throughput, streams, connections, machine, verdict, rejects, phases, units, repeat, notes];

/** A part that cannot be made must not take the others with it. */
function made(make, report) {
  try {
    return make(report);
  } catch (error) {
    console.error(error);
    return section(`broken-${make.name}`, "A part of the page could not be shown", h("p", null, `the JSON file beside this page has its data (${error.message}).`));
  }
}

function show(report) {
  const ofClients = isOfClients(report);
  document.title = ofClients ? clientTitle(report) : `Inrush: ${report.package}, ${report.run}`;
  const sections = (ofClients ? CLIENT_PARTS : PARTS).map((make) => made(make, report)).filter(Boolean);
  const links = sections.map((each) => h("li", null, h("a", { href: `#${each.id}` }, each.firstChild.textContent)));
  const page = h("main", { id: "report", tabindex: "-1" }, ofClients ? clientHeadline(report) : headline(report), sections);
  document.body.append(
    h("a", { class: "skip", href: "#report" }, "To the report"),
    h(
      "header",
      { class: "top" },
      h("p", { class: "brand" }, "Inrush"),
      themeChoice(),
    ),
    h("nav", { class: "contents", "aria-label": "Contents" }, h("ul", null, links)),
    page,
    h(
      "footer",
      null,
      h(
        "p",
        null,
        ofClients
          ? `Made by Inrush ${report.inrush_version} from results.json alone.`
          : [
              `Made by Inrush ${report.inrush_version} from report.json alone: `,
              h("code", null, `inrush report ${report.run || "RUN"}`),
              " makes it again.",
            ],
        " This page loads nothing from anywhere.",
      ),
    ),
    patterns(),
  );
  drawAll();
  keepDrawn();
}

show(JSON.parse(document.getElementById("data").textContent));
