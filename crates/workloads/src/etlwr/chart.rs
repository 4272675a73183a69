//! Draws seconds by number of streams: figure 9 of the paper of 2016.

use std::fmt::Write;

use super::results::PointResult;

/// The drawing's name in the folder of the results.
pub const FILE_NAME: &str = "sweep.svg";

/// Characters of the longest bar.
const BAR_CHARACTERS: usize = 44;

/// The curve for a terminal: a bar for each number of streams.
pub fn text(points: &[PointResult]) -> String {
    let longest = points.iter().map(|point| point.seconds).fold(0.0, f64::max);
    let mut text = String::from("streams  seconds\n");
    for point in points {
        let share = point.seconds / longest.max(1e-9);
        let bar = ((share * BAR_CHARACTERS as f64).round() as usize).max(1);
        let _ = writeln!(
            text,
            "{:>7}  {:<BAR_CHARACTERS$}  {:.2}  ({:.2} times as fast)",
            point.streams,
            "#".repeat(bar),
            point.seconds,
            point.speedup
        );
    }
    text
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 56.0;

/// The curve as a standalone SVG, light or dark like the reader's system, with a text for readers who cannot see it.
pub fn svg(points: &[PointResult]) -> String {
    let most_streams = points.last().map_or(1, |point| point.streams);
    let most_seconds = points
        .iter()
        .map(|point| point.seconds_most)
        .fold(0.0, f64::max);
    let step = round_step(most_seconds);
    let top_s = (most_seconds / step).ceil().max(1.0) * step;
    let x = |streams: f64| {
        // A logarithmic axis, because numbers of streams are usually doubled.
        let range = f64::from(most_streams).log2().max(1e-9);
        LEFT + 24.0 + streams.log2() / range * (WIDTH - LEFT - RIGHT - 48.0)
    };
    let y = |seconds: f64| HEIGHT - BOTTOM - seconds / top_s * (HEIGHT - TOP - BOTTOM);

    let mut body = String::new();
    let mut seconds = 0.0;
    while seconds <= top_s + step / 2.0 {
        let (y, label) = (y(seconds), number(seconds));
        let _ = writeln!(
            body,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"label\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            y + 4.0,
        );
        seconds += step;
    }
    if let Some(first) = points.first() {
        let ideal = points.iter().map(|point| {
            let times = f64::from(point.streams) / f64::from(first.streams);
            (x(f64::from(point.streams)), y(first.seconds / times))
        });
        let _ = writeln!(
            body,
            "<polyline class=\"ideal\" points=\"{}\"/>",
            joined(ideal)
        );
    }
    let line = points
        .iter()
        .map(|point| (x(f64::from(point.streams)), y(point.seconds)));
    let _ = writeln!(
        body,
        "<polyline class=\"line\" points=\"{}\"/>",
        joined(line)
    );
    for point in points {
        let x = x(f64::from(point.streams));
        let _ = writeln!(
            body,
            "<line class=\"range\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/>\
             <circle class=\"point\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"4\"/>\
             <text class=\"value\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{:.1} s</text>\
             <text class=\"label\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            y(point.seconds_least),
            y(point.seconds_most),
            y(point.seconds),
            y(point.seconds_most) - 10.0,
            point.seconds,
            HEIGHT - BOTTOM + 20.0,
            point.streams,
        );
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-labelledby=\"title words\">\n\
         <title id=\"title\">Seconds by streams</title>\n<desc id=\"words\">{}</desc>\n\
         <style>{STYLE}</style>\n\
         <rect class=\"paper\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\n\
         <text class=\"head\" x=\"{LEFT}\" y=\"22\">Seconds to load and switch, by streams</text>\n\
         {body}<text class=\"label\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">streams; dashed: \
         if each stream added as much as the first ones</text>\n</svg>\n",
        described(points),
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 12.0,
    )
}

const STYLE: &str = "\
text{font:13px system-ui,sans-serif;fill:#1f2328}.head{font-weight:600;font-size:15px}\
.label{fill:#59636e}.paper{fill:#fff}.grid{stroke:#d1d9e0}.line{fill:none;stroke:#0969da;\
stroke-width:2}.ideal{fill:none;stroke:#818b98;stroke-dasharray:5 4}.point{fill:#0969da}\
.range{stroke:#0969da;stroke-width:2}\
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.label{fill:#9198a1}.paper{fill:#0d1117}\
.grid{stroke:#3d444d}.line,.range{stroke:#4493f8}.point{fill:#4493f8}}";

fn described(points: &[PointResult]) -> String {
    let points = points.iter();
    let points: Vec<String> = points
        .map(|point| format!("{} streams: {:.2} s", point.streams, point.seconds))
        .collect();
    points.join("; ")
}

fn joined(points: impl Iterator<Item = (f64, f64)>) -> String {
    let points: Vec<String> = points.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    points.join(" ")
}

fn number(seconds: f64) -> String {
    let text = format!("{seconds:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// 1, 2 or 5 times a power of ten, so that about five steps fit into the range.
fn round_step(range: f64) -> f64 {
    let rough = (range / 5.0).max(1e-6);
    let power = 10_f64.powf(rough.log10().floor());
    let factor = rough / power;
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|step| factor <= *step);
    step.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etlwr::rates::Rates;

    fn point(streams: u16, seconds: f64, speedup: f64) -> PointResult {
        PointResult {
            streams,
            runs: 1,
            loader_cpu_s: seconds,
            steps_s: 0.0,
            seconds,
            seconds_least: seconds,
            seconds_most: seconds,
            speedup,
            rates: Rates::new(1e9, seconds, None),
        }
    }

    #[test]
    fn bars_are_as_long_as_their_seconds() {
        let drawn = text(&[
            point(1, 20.0, 1.0),
            point(2, 10.0, 2.0),
            point(16, 0.01, 2000.0),
        ]);
        let bars: Vec<usize> = drawn
            .lines()
            .map(|line| line.matches('#').count())
            .collect();
        assert_eq!(bars, [0, 44, 22, 1]);
        assert!(drawn.contains("      2  "), "{drawn}");
        assert!(drawn.contains("10.00  (2.00 times as fast)"), "{drawn}");
    }

    #[test]
    fn the_picture_lies_within_its_frame() {
        for points in [
            vec![
                point(1, 20.0, 1.0),
                point(2, 11.0, 1.8),
                point(64, 0.3, 60.0),
            ],
            vec![point(3, 0.002, 1.0), point(5, 0.001, 2.0)],
        ] {
            let picture = svg(&points);
            assert_eq!(picture.matches("<circle").count(), points.len());
            for name in ["cx=\"", "cy=\""] {
                for piece in picture.split(name).skip(1) {
                    let at: f64 = piece.split('"').next().unwrap().parse().unwrap();
                    assert!((0.0..WIDTH).contains(&at), "{picture}");
                }
            }
            assert!(
                !picture.contains("NaN") && !picture.contains("inf"),
                "{picture}"
            );
        }
    }

    #[test]
    fn steps_are_round() {
        for (range, step) in [(20.0, 5.0), (9.0, 2.0), (1794.0, 500.0), (0.04, 0.01)] {
            assert!((round_step(range) - step).abs() < 1e-9, "{range}");
        }
    }
}
