// Makes elements without parsing markup: content of a report is always text, whatever it contains.

const SVG = "http://www.w3.org/2000/svg";

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") element.setAttribute("class", value);
    else if (name === "on") for (const [event, does] of Object.entries(value)) element.addEventListener(event, does);
    else if (name === "style") for (const [key, to] of Object.entries(value)) element.style.setProperty(key, to);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Makes an HTML element: `h("p", { class: "note" }, "text", child, ...)`. */
export function h(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Makes an SVG element. */
export function s(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

let ids = 0;
/** Makes an id that no other element has. */
export function fresh(word) {
  ids += 1;
  return `${word}-${ids}`;
}

/** Makes a region that scrolls for itself, also by the keyboard, so that the page need not. */
export function scroller(label, isLong, ...children) {
  return h("div", { class: isLong ? "scroll tall" : "scroll", role: "region", tabindex: "0", "aria-label": label }, ...children);
}

/** Rows of a table that are shown at once; longer ones scroll for themselves. */
const TALL = 24;

/** Characters of a cell that is given several lines. */
const LONG = 60;

/**
 * Makes a table. `columns` are `{ name, right?, grow?, title? }`; a cell is text or an element. The first cell of a row
 * is its heading.
 */
export function table(label, columns, rows, footer) {
  const isLong = (content) => (content?.textContent ?? content ?? "").length > LONG;
  const cell = (tag, column, content) =>
    h(tag, { class: column.right ? "right" : column.grow || isLong(content) ? "grow" : null }, content);
  const line = (row) =>
    h(
      "tr",
      null,
      row.map((content, index) => {
        const made = cell(index === 0 ? "th" : "td", columns[index], content);
        if (index === 0) made.setAttribute("scope", "row");
        return made;
      }),
    );
  return scroller(
    label,
    rows.length > TALL,
    h(
      "table",
      null,
      h("caption", { class: "hidden" }, label),
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          columns.map((column) => {
            const made = cell("th", column, column.name);
            made.setAttribute("scope", "col");
            return made;
          }),
        ),
      ),
      h("tbody", null, rows.map(line)),
      footer && h("tfoot", null, footer.map(line)),
    ),
  );
}

/** Makes a part that opens; its content is made when it first does, since it may be long. */
export function opened(summary, make, { open = false } = {}) {
  const element = h("details", { open }, h("summary", null, summary));
  let made = false;
  const fill = () => {
    if (made || !element.open) return;
    made = true;
    element.append(...[make()].flat());
  };
  element.addEventListener("toggle", fill);
  fill();
  return element;
}

/** Makes a section with its heading. */
export function section(id, title, ...children) {
  return h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), ...children);
}

/** Makes a list of names and what they are. */
export function facts(pairs) {
  const known = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return h("dl", { class: "facts" }, known.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))));
}
