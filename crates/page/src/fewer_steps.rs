//! Combines the steps of long series with many streams into fewer, longer steps: a page that people send to each other
//! should not have 10 MB, and no screen can show 1,200 steps of 64 streams separately. `report.json` keeps all steps.

use serde_json::{Map, Value, json};

/// The most numbers in all series of a page before steps are combined: about 1.5 MB.
const NUMBERS_MAX: usize = 250_000;

/// The fewest steps that remain.
const STEPS_MIN: usize = 120;

/// Series of states at the end of a step; all others are amounts, which add up.
const STATES: [&str; 4] = [
    "round_trip_us",
    "congestion_window_bytes",
    "delivery_rate",
    "loader_memory_bytes",
];

/// The report with longer steps; `None` if it is short enough as it is.
pub fn fewer_steps(report: &Value) -> Option<Value> {
    let measured = report.get("measurements")?;
    let steps = usize::try_from(measured.get("steps")?.as_u64()?).ok()?;
    let step_ms = measured.get("step_ms")?.as_u64()?;
    let factor = numbers(measured, steps)
        .div_ceil(NUMBERS_MAX)
        .min(steps / STEPS_MIN);
    if factor < 2 {
        return None;
    }
    let mut report = report.clone();
    let measured = report.get_mut("measurements")?;
    shorten(measured, "", steps, factor);
    measured["steps"] = json!(steps.div_ceil(factor));
    measured["step_ms"] = json!(step_ms * factor as u64);
    Some(report)
}

/// True if these values are a series: a number for each step.
fn is_series(values: &[Value], steps: usize) -> bool {
    values.len() == steps && values.iter().all(Value::is_u64)
}

/// The number of values in all series.
fn numbers(value: &Value, steps: usize) -> usize {
    match value {
        Value::Array(values) if is_series(values, steps) => values.len(),
        Value::Array(values) => values.iter().map(|value| numbers(value, steps)).sum(),
        Value::Object(fields) => fields.values().map(|value| numbers(value, steps)).sum(),
        _ => 0,
    }
}

fn shorten(value: &mut Value, name: &str, steps: usize, factor: usize) {
    match value {
        Value::Array(values) if is_series(values, steps) => {
            let is_state = STATES.contains(&name);
            let whole = |part: &[Value]| match is_state {
                true => part.last().and_then(Value::as_u64).unwrap_or(0),
                false => part.iter().filter_map(Value::as_u64).sum(),
            };
            *values = values
                .chunks(factor)
                .map(|part| json!(whole(part)))
                .collect();
        }
        Value::Array(values) => {
            for value in values {
                shorten(value, name, steps, factor);
            }
        }
        Value::Object(fields) => shorten_fields(fields, steps, factor),
        _ => {}
    }
}

fn shorten_fields(fields: &mut Map<String, Value>, steps: usize, factor: usize) {
    for (name, value) in fields {
        shorten(value, name, steps, factor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(steps: usize, streams: usize) -> Value {
        let series: Vec<usize> = (0..steps).collect();
        let stream = json!({
            "ended_s": 1.5,
            "phases_us": { "read": series, "convert": series },
            "backend": { "samples": [{ "samples": 3 }], "events": [["CPU", 7]] },
            "tcp": { "round_trip_us": series, "busy_us": series },
        });
        json!({
            "run": "x",
            "measurements": {
                "step_ms": 100,
                "steps": steps,
                "load_s": 99.9,
                "streams": vec![stream; streams],
                "machine": { "cpu_us": series, "loader_memory_bytes": series },
            },
        })
    }

    #[test]
    fn a_short_report_stays_as_it_is() {
        assert_eq!(fewer_steps(&report(300, 8)), None);
        // Steps are never fewer than a picture needs.
        assert_eq!(fewer_steps(&report(200, 1000)), None);
        for odd in [json!({}), json!({ "measurements": { "steps": "many" } })] {
            assert_eq!(fewer_steps(&odd), None);
        }
    }

    #[test]
    fn amounts_add_up_and_states_are_those_of_the_end() {
        let long = report(1000, 100);
        let short = fewer_steps(&long).expect("it is long");
        let measured = &short["measurements"];
        // 402,000 numbers: two steps become one.
        assert_eq!(
            (&measured["steps"], &measured["step_ms"]),
            (&json!(500), &json!(200))
        );
        let pairs: Vec<usize> = (0..500).map(|index| 4 * index + 1).collect();
        let ends: Vec<usize> = (0..500).map(|index| 2 * index + 1).collect();
        let stream = &measured["streams"][99];
        assert_eq!(stream["phases_us"]["read"], json!(pairs));
        assert_eq!(stream["tcp"]["busy_us"], json!(pairs));
        assert_eq!(stream["tcp"]["round_trip_us"], json!(ends));
        assert_eq!(measured["machine"]["loader_memory_bytes"], json!(ends));
        // Everything else is unchanged.
        assert_eq!(
            stream["backend"],
            long["measurements"]["streams"][99]["backend"]
        );
        assert_eq!(stream["ended_s"], json!(1.5));
        assert_eq!(measured["load_s"], json!(99.9));
        assert_eq!(short["run"], long["run"]);
    }

    #[test]
    fn the_last_step_is_what_is_left() {
        let short = fewer_steps(&report(1201, 100)).expect("it is long");
        let busy = &short["measurements"]["machine"]["cpu_us"];
        assert_eq!(short["measurements"]["steps"], json!(601));
        assert_eq!(busy.as_array().map(Vec::len), Some(601));
        assert_eq!(busy[600], json!(1200));
    }
}
