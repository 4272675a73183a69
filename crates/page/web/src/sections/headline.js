import { h, section } from "../dom.js";
import { moment, percent, seconds } from "../format.js";
import { CAUSES, swatch } from "../palette.js";
import { figures, outcome } from "./outcome.js";

const ICONS = { good: "✓", fair: "!", bad: "✕", calm: "=" };

/** Text with commands in it. */
export const words = (parts) =>
  [parts].flat().map((part) => (typeof part === "object" && part !== null && part.code ? h("code", null, part.code) : part));

/** What happened, in five seconds. */
export function headline(report) {
  const ended = outcome(report);
  const todo = ended.todo.filter(Boolean);
  return h(
    "header",
    { class: `headline ${ended.look}` },
    h(
      "div",
      { class: "outcome" },
      h("span", { class: "badge" }, h("span", { "aria-hidden": "true" }, ICONS[ended.look]), ` ${ended.word}`),
      h("span", { class: "which" }, `${report.package} · ${moment(report.started_at)}`),
    ),
    h("h1", null, ended.sentence),
    h("p", { class: "where" }, "to ", h("span", { class: "mono" }, report.destination), " · run ", h("span", { class: "mono" }, report.run || "none")),
    report.error && h("div", { class: "error", role: "note", "aria-label": "What went wrong" }, h("h2", null, "What went wrong"), h("pre", null, report.error)),
    todo.length > 0 &&
      h(
        "div",
        { class: "todo" },
        h("h2", null, "What to do"),
        h("ul", null, todo.map((each) => h("li", null, words(each)))),
      ),
    h(
      "dl",
      { class: "tiles" },
      figures(report).map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))),
    ),
  );
}

/** What limited the run, in one line, with what was most of its time. */
export function limits(report) {
  const { verdict } = report;
  if (!verdict) return null;
  const { advice } = verdict;
  const load_s = report.measurements?.load_s ?? report.phases.load_s;
  const first = verdict.causes.filter(({ share }) => share >= 0.005).slice(0, 4);
  const says = (text) => text.replace(/[\s.:;]+$/, "");
  // The line ends with the advice, which is shown separately here.
  const at = advice ? verdict.line.indexOf(advice.change) : -1;
  const line = at > 0 ? verdict.line.slice(0, at).trim() : verdict.line;
  return section(
    "limits",
    "What held it back",
    h("p", { class: "line" }, line),
    !verdict.is_decided &&
      h("p", { class: "undecided" }, "The evidence does not tell the first cause apart from the others: take the shares as a hint."),
    h(
      "ol",
      { class: "shares", "aria-label": "The largest causes" },
      first.map(({ cause, share }) => {
        const kind = CAUSES.find(({ id }) => id === cause) ?? { name: cause, fill: "var(--undecided)" };
        const bar = h("span", { class: "bar", "aria-hidden": "true" });
        const part = h("span", { class: "part" });
        part.style.setProperty("width", `${Math.max(1, share * 100)}%`);
        bar.append(part);
        return h("li", null, swatch(kind.fill), h("span", { class: "name" }, kind.name), bar, h("span", { class: "share" }, percent(share)));
      }),
    ),
    advice &&
      h(
        "p",
        { class: "advice" },
        h("strong", null, "What to change: "),
        says(advice.change),
        ". ",
        h("strong", null, "What it should gain: "),
        `up to ${seconds(advice.gain_s)} of the ${seconds(load_s)} of loading${load_s > 0 ? ` (${percent(advice.gain_s / load_s)})` : ""}.`,
      ),
    h("p", { class: "more" }, h("a", { href: "#verdict" }, "The evidence, and each stream by cause")),
  );
}
