// Light or dark: like the reader's system, until the reader chooses.

import { h } from "./dom.js";

const CHOICES = [
  ["auto", "As the system"],
  ["light", "Light"],
  ["dark", "Dark"],
];

/** Radio buttons, so that arrow keys change the look and readers of screens know what is chosen. */
export function themeChoice() {
  return h(
    "fieldset",
    { class: "theme" },
    h("legend", { class: "hidden" }, "Colours"),
    CHOICES.map(([value, name]) =>
      h(
        "label",
        null,
        h("input", {
          type: "radio",
          name: "theme",
          value,
          checked: value === "auto",
          on: {
            change: () => {
              if (value === "auto") delete document.documentElement.dataset.theme;
              else document.documentElement.dataset.theme = value;
            },
          },
        }),
        h("span", null, name),
      ),
    ),
  );
}
