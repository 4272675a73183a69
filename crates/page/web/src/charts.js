// The few kinds of charts that the page has, drawn by Observable Plot.

import * as Plot from "@observablehq/plot";
import { clock, moments } from "./format.js";

const STYLE = { background: "transparent", fontSize: "12px", fontFamily: "inherit", overflow: "visible" };

/** What all charts have in common. The picture's words stand beside it: within, it is an image. */
function plot(options) {
  const svg = Plot.plot({ className: "plot-svg", style: STYLE, ...options });
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("focusable", "false");
  return svg;
}

const timeAxis = (width, end_s) => ({
  domain: [0, end_s],
  label: null,
  tickFormat: clock,
  ticks: moments(end_s, Math.max(3, Math.min(12, Math.floor(width / 85)))),
});

/** Whole ticks that are not closer than people can read. */
const valueTicks = (height) => Math.max(2, Math.floor(height / 40));

/**
 * Areas over time, one on top of the other. `layers` are `{ name, fill, values }` in rates of the axis, `at` the edges of the
 * steps.
 */
export function stackedAreas({ width, height, at, layers, label, format, tick, limit, isPaper }) {
  const bins = at.length - 1;
  const marks = [];
  let base = new Array(bins).fill(0);
  const tops = [];
  for (const layer of layers) {
    const top = base.map((value, index) => value + (layer.values[index] ?? 0));
    const points = [];
    for (let index = 0; index <= bins; index += 1) {
      const from = Math.min(index, bins - 1);
      points.push({ x: at[index], y1: base[from], y2: top[from] });
    }
    marks.push(
      Plot.areaY(points, {
        x: "x",
        y1: "y1",
        y2: "y2",
        curve: "step-after",
        fill: layer.fill,
        stroke: "var(--surface)",
        strokeWidth: bins > 300 ? 0 : 0.6,
        className: "layer",
      }),
    );
    tops.push(top);
    base = top;
  }
  const highest = Math.max(limit?.value ?? 0, ...base, 1e-9);
  if (limit) {
    marks.push(
      Plot.ruleY([limit.value], { stroke: "currentColor", strokeDasharray: "4 3" }),
      Plot.text([limit], {
        x: at[bins],
        y: "value",
        text: "name",
        textAnchor: "end",
        dy: -7,
        fill: "currentColor",
        stroke: "var(--surface)",
        strokeWidth: 3,
      }),
    );
  }
  if (!isPaper) {
    const told = base.map((whole, index) => {
      const parts = layers
        .map((layer) => [layer.name, layer.values[index] ?? 0])
        .filter(([, value]) => value > 0)
        .reverse()
        .slice(0, 10)
        .map(([name, value]) => `${name}: ${format(value)}`);
      const title = [`${clock(at[index])} to ${clock(at[index + 1])}`, `in all: ${format(whole)}`, ...parts].join("\n");
      return { x: (at[index] + at[index + 1]) / 2, y: whole, title };
    });
    marks.push(
      Plot.ruleX(told, Plot.pointerX({ x: "x", stroke: "currentColor", strokeOpacity: 0.5 })),
      Plot.tip(told, Plot.pointerX({ x: "x", y: "y", title: "title", preferredAnchor: "bottom-left" })),
    );
  }
  return plot({
    width,
    height,
    marginLeft: 52,
    marginRight: 14,
    marginTop: 22,
    marginBottom: 26,
    x: timeAxis(width, at[bins]),
    y: { domain: [0, highest * 1.04], label, tickFormat: tick ?? format, grid: true, ticks: valueTicks(height) },
    marks,
  });
}

/** Lines over time. `lines` are `{ name, stroke, dash?, values }`, `marks` are moments with a name: `{ at, name }`. */
export function lines({ width, height, at, lines: all, label, format, tick, marks: moments_ = [], isPaper }) {
  const bins = at.length - 1;
  const marks = all.map((line) =>
    Plot.lineY(
      Array.from({ length: bins + 1 }, (_, index) => ({ x: at[index], y: line.values[Math.min(index, bins - 1)] ?? 0 })),
      { x: "x", y: "y", curve: "step-after", stroke: line.stroke, strokeDasharray: line.dash, strokeWidth: 1.6, className: "line" },
    ),
  );
  const highest = Math.max(1e-9, ...all.flatMap(({ values }) => [Math.max(...values)]));
  marks.push(
    Plot.ruleX(moments_, { x: "at", stroke: "currentColor", strokeOpacity: 0.35, strokeDasharray: "2 3" }),
    Plot.text(moments_, { x: "at", text: "name", frameAnchor: "top", dy: -8, fill: "currentColor" }),
  );
  if (!isPaper) {
    const told = Array.from({ length: bins }, (_, index) => ({
      x: (at[index] + at[index + 1]) / 2,
      y: Math.max(...all.map(({ values }) => values[index] ?? 0)),
      title: [
        `${clock(at[index])} to ${clock(at[index + 1])}`,
        ...all.map(({ name, values }) => `${name}: ${format(values[index] ?? 0)}`),
      ].join("\n"),
    }));
    marks.push(
      Plot.ruleX(told, Plot.pointerX({ x: "x", stroke: "currentColor", strokeOpacity: 0.5 })),
      Plot.tip(told, Plot.pointerX({ x: "x", y: "y", title: "title", preferredAnchor: "bottom-left" })),
    );
  }
  return plot({
    width,
    height,
    marginLeft: 52,
    marginRight: 14,
    marginTop: 22,
    marginBottom: 26,
    x: timeAxis(width, at[bins]),
    y: { domain: [0, highest * 1.08], label, tickFormat: tick ?? format, grid: true, ticks: valueTicks(height) },
    marks,
  });
}

/** How high a lane may be, so that all of them stay on a screen or a sheet of paper. */
export function laneHeight(lanes, isPaper) {
  const most = isPaper ? 760 : 1100;
  return Math.max(isPaper ? 6 : 10, Math.min(lanes <= 4 ? 52 : 36, most / Math.max(1, lanes)));
}

/**
 * Lanes over time, one below the other; each is filled by the shares of its step that `kinds` took. `lanes` are
 * `{ name, shares: { kind: [0..1] }, end_s, note }`; what comes after `end_s` is idle.
 */
export function lanes({ width, at, lanes: all, kinds, end_s, isPaper }) {
  const bins = at.length - 1;
  const laneHeight_ = laneHeight(all.length, isPaper);
  const gap = laneHeight_ > 14 ? 0.12 : 0.08;
  const tall = 1 - 2 * gap;
  const marks = [];
  const idle = all
    .map((lane, index) => ({ x1: lane.end_s, x2: end_s, y1: index + gap, y2: index + 1 - gap }))
    .filter(({ x1, x2 }) => x2 - x1 > 0);
  marks.push(Plot.rect(idle, { x1: "x1", x2: "x2", y1: "y1", y2: "y2", fill: "url(#hatch-idle)", className: "idle" }));
  all.forEach((lane, row) => {
    const base = new Array(bins).fill(0);
    for (const kind of kinds) {
      const shares = lane.shares[kind.id];
      if (!shares || !shares.some((share) => share > 0)) continue;
      const points = [];
      for (let index = 0; index < bins; index += 1) {
        if (at[index] >= lane.end_s) break;
        const from = base[index];
        const to = Math.min(1, from + (shares[index] ?? 0));
        base[index] = to;
        points.push({ x: at[index], y1: row + 1 - gap - tall * from, y2: row + 1 - gap - tall * to });
      }
      if (points.length === 0) continue;
      points.push({ ...points[points.length - 1], x: Math.min(lane.end_s, at[bins]) });
      marks.push(
        Plot.areaY(points, { x: "x", y1: "y1", y2: "y2", curve: "step-after", fill: kind.fill, className: "phase" }),
      );
    }
  });
  marks.push(
    Plot.ruleX(
      all.map((lane, index) => ({ x: lane.end_s, y1: index + gap / 2, y2: index + 1 - gap / 2 })),
      { x: "x", y1: "y1", y2: "y2", stroke: "currentColor", strokeWidth: 1.5, className: "end" },
    ),
  );
  // Names that would overlap are left out: only those of every second or fourth lane are shown.
  const each = Math.max(1, Math.ceil(12 / laneHeight_));
  const named = all.map((lane, index) => ({ ...lane, y: index + 0.5 })).filter((_, index) => index % each === 0);
  const longest = Math.max(...named.map(({ name }) => name.length));
  const marginLeft = Math.min(Math.max(26, longest * 6.6 + 10), width * 0.28);
  marks.push(
    Plot.text(named, {
      y: "y",
      text: "name",
      frameAnchor: "left",
      textAnchor: "end",
      dx: -6,
      fill: "currentColor",
      className: "lane-name",
    }),
  );
  if (!isPaper) {
    const told = all.map((lane, index) => ({ y: index + 0.5, x: end_s / 2, title: lane.note }));
    marks.push(Plot.tip(told, Plot.pointerY({ x: "x", y: "y", title: "title" })));
  }
  return plot({
    width,
    height: laneHeight_ * all.length + 34,
    marginLeft,
    marginRight: 14,
    marginTop: 6,
    marginBottom: 28,
    x: timeAxis(width, end_s),
    y: { domain: [all.length, 0], axis: null },
    marks,
  });
}

/**
 * Bars to the right, one below the other, each made of parts: `bars` are `{ name, parts: [{ kind, value }] }`. `most` is the
 * end of the axis.
 */
export function stackedBars({ width, bars, most, format, label, isTime, isPaper, barHeight = 28 }) {
  const height = Math.max(isPaper ? 6 : 10, Math.min(barHeight, (isPaper ? 600 : 760) / Math.max(1, bars.length)));
  const gap = height > 14 ? 0.12 : 0.08;
  const parts = [];
  bars.forEach((bar, index) => {
    let from = 0;
    for (const { kind, value } of bar.parts) {
      if (value <= 0) continue;
      parts.push({
        x1: from,
        x2: from + value,
        y1: index + gap,
        y2: index + 1 - gap,
        fill: kind.fill,
        title: `${bar.name}: ${kind.name}, ${format(value)}`,
      });
      from += value;
    }
  });
  const each = Math.max(1, Math.ceil(12 / height));
  const named = bars.map((bar, index) => ({ name: bar.name, y: index + 0.5 })).filter((_, index) => index % each === 0);
  const longest = Math.max(0, ...named.map(({ name }) => name.length));
  const marginLeft = longest === 0 ? 4 : Math.min(Math.max(26, longest * 6.6 + 10), width * 0.34);
  return plot({
    width,
    height: height * bars.length + 34,
    marginLeft,
    marginRight: 18,
    marginTop: 4,
    marginBottom: 30,
    x: isTime ? timeAxis(width, most) : { domain: [0, most], label, tickFormat: format, ticks: Math.max(2, Math.min(10, Math.floor(width / 110))) },
    y: { domain: [bars.length, 0], axis: null },
    marks: [
      Plot.rect(parts, {
        x1: "x1",
        x2: "x2",
        y1: "y1",
        y2: "y2",
        fill: "fill",
        stroke: "var(--surface)",
        strokeWidth: 1,
        title: "title",
        className: "part",
      }),
      Plot.text(named, {
        y: "y",
        text: "name",
        frameAnchor: "left",
        textAnchor: "end",
        dx: -6,
        fill: "currentColor",
        lineWidth: Math.max(1, (marginLeft - 8) / 12),
        textOverflow: "ellipsis",
      }),
    ],
  });
}

/** Bars upwards, side by side: `bars` are `{ value, fill, title }`; `line` is a value that they are compared with. */
export function columns({ width, bars, label, line, xLabel, format = clock }) {
  const room = (width - 70) / Math.max(1, bars.length);
  const inset = room > 6 ? 1 : room > 2.5 ? 0.4 : 0;
  const marks = [
    Plot.rect(
      bars.map((bar, index) => ({ ...bar, x1: index + 0.5, x2: index + 1.5 })),
      { x1: "x1", x2: "x2", y1: 0, y2: "value", fill: "fill", title: "title", insetLeft: inset, insetRight: inset, className: "column" },
    ),
    Plot.ruleY([0], { stroke: "currentColor" }),
  ];
  if (line) {
    marks.push(
      Plot.ruleY([line.value], { stroke: "currentColor", strokeDasharray: "4 3" }),
      Plot.text([line], {
        frameAnchor: "right",
        y: "value",
        text: "name",
        textAnchor: "end",
        dy: -7,
        fill: "currentColor",
        stroke: "var(--surface)",
        strokeWidth: 3,
      }),
    );
  }
  const highest = Math.max(1e-9, ...bars.map(({ value }) => value));
  return plot({
    width,
    height: 200,
    marginLeft: 52,
    marginRight: 14,
    marginTop: 22,
    marginBottom: 34,
    x: { domain: [0.5, bars.length + 0.5], label: xLabel, ticks: Math.min(bars.length, 10), tickFormat: (at) => (Number.isInteger(at) ? `${at}` : "") },
    y: { domain: [0, highest * 1.06], label, tickFormat: format, grid: true, ticks: 4 },
    marks,
  });
}

/**
 * A curve over numbers that are rather doubled than counted: `points` are `{ x, y, least, most, isBest, title }`.
 */
export function curveOver({ width, points, label, xLabel }) {
  const highest = Math.max(1e-9, ...points.map(({ most }) => most));
  return plot({
    width,
    height: 260,
    marginLeft: 64,
    marginRight: 18,
    marginTop: 26,
    marginBottom: 36,
    x: { type: "point", domain: points.map(({ x }) => x), label: xLabel, padding: 0.3 },
    y: { domain: [0, highest * 1.1], label, grid: true, ticks: 5, tickFormat: (value) => value.toLocaleString("en-US") },
    marks: [
      Plot.lineY(points, { x: "x", y: "y", stroke: "var(--series-1)", strokeWidth: 1.8, className: "line" }),
      Plot.ruleX(points, { x: "x", y1: "least", y2: "most", stroke: "var(--series-1)", strokeWidth: 2 }),
      Plot.dot(points, { x: "x", y: "y", r: (point) => (point.isBest ? 6 : 3.5), fill: "var(--series-1)", title: "title", className: "point" }),
      Plot.text(points.filter(({ isBest }) => isBest), { x: "x", y: "most", text: () => "best", dy: -10, fill: "currentColor" }),
    ],
  });
}
