// A chart with everything that belongs to it: a title, its message in a sentence, a legend, and its numbers as a table.

import { fresh, h, opened, table } from "./dom.js";
import { swatch } from "./palette.js";

const drawn = [];

/** The width that charts have on paper: A4 or Letter between their margins. */
const PAPER_WIDTH = 680;

/**
 * Makes a figure. `draw({ width, isPaper })` makes the SVG; `numbers()` is `{ columns, rows, footer? }`, made when somebody
 * opens them; `legend` is a list of `{ name, fill, what? }`.
 */
export function figure({ id, title, says, legend, draw, numbers, controls }) {
  const titleId = fresh("figure");
  const says_ = h("p", { class: "says", id: `${titleId}-says` }, says);
  const plot = h("div", {
    class: "plot",
    role: "img",
    "aria-labelledby": titleId,
    "aria-describedby": `${titleId}-says`,
  });
  const element = h(
    "figure",
    { id, "aria-labelledby": titleId },
    h("h3", { id: titleId }, title),
    says_,
    controls,
    legend && legend.length > 0 && makeLegend(legend),
    plot,
    numbers &&
      opened(["The numbers of this chart", h("span", { class: "hidden" }, `: ${title}`)], () => {
        const { columns, rows, footer } = numbers();
        return table(title, columns, rows, footer);
      }),
  );
  drawn.push({ plot, draw, width: 0 });
  return element;
}

/** Makes the key of a chart's looks. */
export function makeLegend(kinds) {
  return h(
    "ul",
    { class: "legend" },
    kinds.map(({ name, fill, what }) => h("li", what && { title: what }, swatch(fill), name)),
  );
}

function drawOne(one, width, isPaper) {
  one.width = width;
  try {
    one.plot.replaceChildren(one.draw({ width, isPaper }));
  } catch (error) {
    // The other charts, and the numbers of this one, are still of use.
    console.error(error);
    one.plot.replaceChildren(h("p", { class: "undecided" }, "This chart could not be drawn; its numbers are below."));
  }
}

/** Draws every chart as wide as its place is. */
export function drawAll() {
  // All widths are read first, because each reading after a change would lay out the whole page once more.
  const widths = drawn.map(({ plot }) => Math.floor(plot.clientWidth));
  drawn.forEach((one, index) => {
    if (widths[index] > 0 && widths[index] !== one.width) drawOne(one, widths[index], false);
  });
}

/** Draws every chart for paper, or for the screen again. */
export function drawForPaper(isPaper) {
  for (const one of drawn) {
    if (isPaper) drawOne(one, PAPER_WIDTH, true);
    else one.width = 0;
  }
  if (!isPaper) drawAll();
}

/** Draws anew whatever has another width than it was drawn for. */
export function keepDrawn() {
  let asked = 0;
  const again = () => {
    cancelAnimationFrame(asked);
    asked = requestAnimationFrame(drawAll);
  };
  addEventListener("resize", again);
  addEventListener("beforeprint", () => drawForPaper(true));
  addEventListener("afterprint", () => drawForPaper(false));
}
