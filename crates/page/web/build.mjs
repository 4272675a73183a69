// Makes ../page.html, the page without a report, with its script and style, and the licences of the libraries in the
// script. `--check` writes nothing, and fails if the file differs from the one that would be made.

import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "..", "page.html");

async function bundled(entry, options) {
  const made = await build({
    absWorkingDir: here,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    // `licences` identifies a package by its path in node_modules, even if that folder is a link.
    preserveSymlinks: true,
    legalComments: "none",
    charset: "ascii",
    target: ["chrome111", "firefox113", "safari16.4"],
    ...options,
  });
  return { text: made.outputFiles[0].text.trim(), inputs: Object.keys(made.metafile.inputs) };
}

/** The licences of all packages that the script has parts of. */
async function licences(inputs) {
  const folders = inputs.map((input) => input.match(/^node_modules\/(?:@[^/]+\/)?[^/]+/)?.[0]).filter(Boolean);
  if (folders.length === 0) throw new Error("the script has no part of a package in node_modules: its licences would be missing");
  const texts = new Map();
  for (const folder of [...new Set(folders)].sort()) {
    const about = JSON.parse(await readFile(join(here, folder, "package.json"), "utf8"));
    let text = null;
    for (const name of ["LICENSE", "LICENSE.md", "LICENSE.txt", "license"]) {
      text ??= await readFile(join(here, folder, name), "utf8").catch(() => null);
    }
    if (text === null) throw new Error(`${folder} has no licence text`);
    // Two dashes would end an HTML comment.
    const words = text.trim().replaceAll("\r", "").replaceAll("--", "- -");
    texts.set(words, [...(texts.get(words) ?? []), `${about.name} ${about.version} (${about.license})`]);
  }
  const parts = [...texts].map(([text, names]) => `${names.join(", ")}\n\n${text}`);
  return ["The script of this page has parts of these packages.", ...parts].join("\n\n----\n\n").replaceAll("--", "- -");
}

const script = await bundled("src/main.js", { format: "iife" });
const style = await bundled("src/style.css", {});
for (const [what, text, end] of [["script", script.text, /<\/script|<!--/i], ["style", style.text, /<\/style/i]]) {
  if (end.test(text)) throw new Error(`the ${what} holds ${end}, which would end it`);
}
const parts = {
  "script-hash": createHash("sha256").update(script.text).digest("base64"),
  style: style.text,
  script: script.text,
  licences: await licences(script.inputs),
};
const template = await readFile(join(here, "src", "page.html"), "utf8");
if (Object.values(parts).some((text) => text.includes("{{report}}"))) throw new Error("the place of the report is not the only one");
const page = template.replace(/\{\{([a-z-]+)\}\}/g, (whole, name) => parts[name] ?? whole);

if (process.argv.includes("--check")) {
  if ((await readFile(target, "utf8").catch(() => "")) !== page) {
    console.error("page.html is not what web/ makes: npm ci && npm run build");
    process.exit(1);
  }
} else {
  await writeFile(target, page);
  console.log(`page.html: ${page.length} bytes`);
}
