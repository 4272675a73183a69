// Opens report pages in headless Chromium and writes what is seen there as JSON:
//
//     node look.mjs CHROMIUM
//
// Each line of the standard input is a request, and each is answered by a line of the standard output:
//
//     {"page": "report.html", "parts": "screen,phone,paper,light,dark", "shots": null}
//
// Of the parts, only those that are named are looked at; shots is a folder for pictures of them. What all that should be
// is for the tests to say. Chromium takes seconds to start, so it looks at many pages; each look has contexts of its
// own, which share nothing.

import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath] = process.argv.slice(2);
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// Nothing that the browser itself may ask of the network.
const args = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
// Chromium refuses its sandbox to root.
if (process.getuid() === 0) args.push("--no-sandbox");
const browser = await chromium.launch({ executablePath, args });

// The request that is being answered, and what its page has told and asked for.
let url, parts, shots, told, requests;
const wanted = (part) => parts.split(",").includes(part);

async function open(options, before) {
  const context = await browser.newContext(options);
  // A machine that does much else at the time is slow, and not wrong.
  context.setDefaultTimeout(300_000);
  context.setDefaultNavigationTimeout(300_000);
  const page = await context.newPage();
  page.on("console", (message) => told.push(`console ${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => told.push(`error: ${error.message}`));
  context.on("request", (request) => requests.push(request.url().startsWith("data:") ? "data:" : request.url()));
  if (before) await page.addInitScript(before);
  await page.goto(url);
  return page;
}

/** A picture of the page, as much of it as Chromium can hold in one. */
async function shot(page, name) {
  if (!shots) return;
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  await page.screenshot({ path: join(shots, `${name}.png`), fullPage: height < 12_000 });
}

/** Everything that a reader is told, and what is drawn. */
const readPage = () => {
  const text = (element) => element?.innerText.replace(/\s+/g, " ").trim() ?? null;
  const rows = (table) => [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.replace(/\s+/g, " ").trim()));
  for (const details of document.querySelectorAll("details")) details.open = true;
  // Their content is made when the event comes, which is later.
  return new Promise((resolve) => setTimeout(resolve, 0)).then(() => ({
    title: document.title,
    badge: text(document.querySelector(".badge")),
    h1: text(document.querySelector("h1")),
    error: text(document.querySelector(".error pre")),
    todo: [...document.querySelectorAll(".todo li")].map(text),
    tiles: Object.fromEntries([...document.querySelectorAll(".tiles div")].map((tile) => [text(tile.querySelector("dt")), text(tile.querySelector("dd"))])),
    line: text(document.querySelector("#limits .line")),
    advice: text(document.querySelector("#limits .advice")),
    sections: [...document.querySelectorAll("main > section")].map((section) => section.id),
    links: [...document.querySelectorAll("nav a")].map((link) => link.getAttribute("href").slice(1)),
    headings: [...document.querySelectorAll("h1, h2, h3, h4")].map((heading) => Number(heading.tagName[1])),
    checks: [...document.querySelectorAll(".checks li")].map(text),
    notes: [...document.querySelectorAll(".notes li")].map(text),
    rejects: [...document.querySelectorAll(".reject-cause")].map((cause) => ({ title: text(cause.querySelector("h3")), rows: rows(cause.querySelector("table")) })),
    tables: Object.fromEntries([...document.querySelectorAll("main > section > .scroll, main > section > details > .scroll")].map((region) => [region.getAttribute("aria-label"), rows(region.querySelector("table"))])),
    facts: Object.fromEntries([...document.querySelectorAll(".facts > div")].map((fact) => [text(fact.querySelector("dt")), text(fact.querySelector("dd"))])),
    elements: document.querySelectorAll("*").length,
    charts: Object.fromEntries(
      [...document.querySelectorAll("figure")].map((figure) => {
        const svg = figure.querySelector(".plot svg");
        const marks = {};
        for (const group of svg?.querySelectorAll("g[class]") ?? []) {
          marks[group.getAttribute("class")] = (marks[group.getAttribute("class")] ?? 0) + group.querySelectorAll("path, rect, line, text").length;
        }
        const plot = figure.querySelector(".plot");
        return [
          figure.id,
          {
            title: text(figure.querySelector("h3")),
            says: text(figure.querySelector(".says")),
            legend: [...figure.querySelectorAll(".legend li")].map(text),
            marks,
            role: plot.getAttribute("role"),
            name: text(document.getElementById(plot.getAttribute("aria-labelledby"))),
            description: text(document.getElementById(plot.getAttribute("aria-describedby"))),
            numbers: figure.querySelector("table") ? rows(figure.querySelector("table")) : null,
            broken: figure.querySelector(".plot .undecided") !== null,
          },
        ];
      }),
    ),
  }));
};

/** What is wider than the page, and what was cut off from charts. */
const readWidths = () => {
  const wide = document.documentElement.clientWidth;
  const cut = [];
  for (const svg of document.querySelectorAll(".plot svg")) {
    const own = svg.getBoundingClientRect();
    if (own.right > wide + 1 || own.left < -1 || own.width < 10) cut.push(svg.closest("figure").id);
    const edge = svg.closest("figure").getBoundingClientRect();
    for (const label of svg.querySelectorAll("text")) {
      if (label.closest('[aria-label="tip"]')) continue;
      const box = label.getBoundingClientRect();
      if (box.width > 0 && (box.left < edge.left - 12 || box.right > edge.right + 12)) cut.push(`${svg.closest("figure").id}: ${label.textContent}`);
    }
  }
  return { client: wide, scroll: document.documentElement.scrollWidth, cut };
};

/** What axe says of the page; charts are images to it, whose words stand beside them. */
const violations = async (colorScheme, viewport) => {
  const page = await open({ colorScheme, viewport, bypassCSP: true, reducedMotion: "reduce" });
  await page.evaluate(() => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run({ exclude: [[".plot svg"]] }, { resultTypes: ["violations"] }));
  const made = found.violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 3).map(({ html, failureSummary }) => `${html.slice(0, 200)} (${failureSummary})`).join(" | ")}`);
  const ground = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  await shot(page, colorScheme);
  await page.context().close();
  return { violations: made, ground };
};

async function look() {
  const seen = {};

  // As it is opened: what it says, what moves, and what the keyboard reaches in which order.
  if (wanted("screen")) {
    const page = await open({ viewport: { width: 1200, height: 900 }, colorScheme: "light" }, () => {
      globalThis.shifts = 0;
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) globalThis.shifts += entry.value;
      }).observe({ type: "layout-shift", buffered: true });
    });
    seen.widths = await page.evaluate(readWidths);
    // All that was drawn is on the screen by the second frame.
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    seen.shifts = await page.evaluate(() => globalThis.shifts);
    await shot(page, "screen");
    const order = [];
    for (let presses = 0; presses < 400; presses += 1) {
      await page.keyboard.press("Tab");
      const at = await page.evaluate(() => {
        const element = document.activeElement;
        if (!element || element === document.body) return null;
        const style = getComputedStyle(element.matches("input") ? element.nextElementSibling : element);
        const box = element.getBoundingClientRect();
        return {
          what: `${element.tagName.toLowerCase()}${element.getAttribute("role") ? `[${element.getAttribute("role")}]` : ""}`,
          name: element.getAttribute("aria-label") ?? element.closest("label")?.innerText ?? element.innerText.slice(0, 60),
          top: Math.round(box.top + scrollY),
          outlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
        };
      });
      if (at === null) break;
      order.push(at);
    }
    seen.order = order;
    // The choice of colours, by its arrow keys.
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    await page.focus('input[name="theme"][value="auto"]');
    const grounds = [await ground()];
    for (const key of ["ArrowRight", "ArrowRight", "ArrowLeft"]) {
      await page.keyboard.press(key);
      grounds.push(await ground());
    }
    seen.grounds = grounds;
    seen.page = await page.evaluate(readPage);
    await page.context().close();
  }

  if (wanted("phone")) {
    const page = await open({ viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 });
    seen.phone = await page.evaluate(readWidths);
    await shot(page, "phone");
    // A screen that is turned.
    await page.setViewportSize({ width: 740, height: 360 });
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    seen.turned = await page.evaluate(readWidths);
    await page.context().close();
  }

  // On paper, from a reader who looks at it in the dark.
  if (wanted("paper")) {
    const page = await open({ viewport: { width: 1200, height: 900 }, colorScheme: "dark" });
    await page.evaluate(() => {
      globalThis.printed = [];
      addEventListener("beforeprint", () => {
        globalThis.printed = [...document.querySelectorAll(".plot svg")].map((svg) => [Number(svg.getAttribute("width")), Number(svg.getAttribute("height"))]);
      });
    });
    const pdf = await page.pdf({ format: "A4", printBackground: true });
    seen.pdf = { begin: pdf.subarray(0, 5).toString("latin1"), bytes: pdf.length, pages: (pdf.toString("latin1").match(/\/Type\s*\/Page\b/g) ?? []).length };
    if (shots) await writeFile(join(shots, "print.pdf"), pdf);
    seen.printed = await page.evaluate(() => globalThis.printed);
    await page.emulateMedia({ media: "print" });
    seen.paper = await page.evaluate(() => ({
      ground: getComputedStyle(document.documentElement).backgroundColor,
      text: getComputedStyle(document.body).color,
      hidden: [".contents", ".theme", ".skip"].every((part) => getComputedStyle(document.querySelector(part)).display === "none"),
    }));
    await page.context().close();
  }

  if (wanted("light")) seen.light = await violations("light", { width: 1200, height: 900 });
  if (wanted("dark")) seen.dark = await violations("dark", { width: 360, height: 740 });
  seen.told = told;
  seen.requests = [...new Set(requests)];
  seen.url = url;
  return seen;
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  url = pathToFileURL(request.page).href;
  ({ parts, shots } = request);
  told = [];
  requests = [];
  console.log(JSON.stringify(await look()));
}
await browser.close();
