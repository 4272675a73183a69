//! The place of a setting, so that a message can name and show its line.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::url_passwords::redact_line;

/// The origin of a package: its file and the place of every setting in it, or the arguments that it was made from. It
/// is not part of the content, so two packages with the same content are equal.
#[derive(Clone, Default)]
pub struct PackageOrigin {
    file: Option<Arc<Path>>,
    text: Arc<str>,
    keys: Arc<BTreeMap<String, Range<usize>>>,
    values: Arc<BTreeMap<String, Range<usize>>>,
    arguments: Arc<BTreeMap<String, String>>,
}

/// The place of one setting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: Option<PathBuf>,
    /// Its line there.
    pub line: Option<Line>,
    /// The argument of the command that the setting came from.
    pub argument: Option<String>,
}

/// A line of a file, and the marked part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Counted from 1.
    pub number: usize,
    /// The first marked character, counted from 1.
    pub column: usize,
    /// The number of characters to mark, at least 1; 0 if they cannot be shown.
    pub width: usize,
    /// The whole line, passwords left out.
    pub text: String,
}

/// The places of all settings of a document, collected while it is walked.
#[derive(Debug, Default)]
pub(super) struct SettingSpans {
    pub(super) keys: BTreeMap<String, Range<usize>>,
    pub(super) values: BTreeMap<String, Range<usize>>,
}

impl PackageOrigin {
    /// The origin of a package that was made from a command's arguments. `arguments` maps a setting to its argument:
    /// `flow[0].bounds` to `--bounds`.
    pub fn of_arguments<P: Into<String>, A: Into<String>>(
        arguments: impl IntoIterator<Item = (P, A)>,
    ) -> PackageOrigin {
        PackageOrigin {
            arguments: Arc::new(
                arguments
                    .into_iter()
                    .map(|(path, argument)| (path.into(), argument.into()))
                    .collect(),
            ),
            ..PackageOrigin::default()
        }
    }

    pub(super) fn of_file(file: &Path, text: &str, places: SettingSpans) -> PackageOrigin {
        PackageOrigin {
            file: Some(Arc::from(file)),
            text: Arc::from(text),
            keys: Arc::new(places.keys),
            values: Arc::new(places.values),
            arguments: Arc::default(),
        }
    }

    /// The same places after outputs became flows. `flows` has, for each new flow, the index of the original flow and
    /// of its output.
    pub(super) fn with_outputs(&self, flows: &[(usize, Option<usize>)]) -> PackageOrigin {
        if flows.iter().all(|(_, output)| output.is_none()) {
            return self.clone();
        }
        let moved = |spans: &BTreeMap<String, Range<usize>>| {
            let of_flows = spans.keys().filter(|path| path.starts_with("flow["));
            let of_flows: Vec<&String> = of_flows.collect();
            let others = spans.iter().filter(|(path, _)| !path.starts_with("flow["));
            let others = others.map(|(path, span)| (path.clone(), span.clone()));
            let mut all: BTreeMap<String, Range<usize>> = others.collect();
            for (now, (before, output)) in flows.iter().enumerate() {
                let flow = format!("flow[{before}]");
                let output = output.map(|output| format!("{flow}.output[{output}]"));
                // Settings of the output come last, because they take the place of the flow's.
                for from in [Some(flow), output].into_iter().flatten() {
                    for path in &of_flows {
                        if let Some(setting) = path.strip_prefix(&from)
                            && (setting.is_empty() || setting.starts_with(['.', '[']))
                        {
                            all.insert(format!("flow[{now}]{setting}"), spans[*path].clone());
                        }
                    }
                }
            }
            Arc::new(all)
        };
        PackageOrigin {
            keys: moved(&self.keys),
            values: moved(&self.values),
            ..self.clone()
        }
    }

    /// The file, if there is one.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The folder that relative paths start at, if there is a file.
    pub fn folder(&self) -> Option<&Path> {
        self.file().map(|file| match file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        })
    }

    /// The place of the setting at `path` (`flow[1].columns[0].type`), or of the nearest one around it that is in the
    /// file.
    pub fn place(&self, path: &str) -> Place {
        let mut path = path;
        loop {
            if let Some(argument) = self.arguments.get(path) {
                return Place {
                    argument: Some(argument.clone()),
                    ..Place::default()
                };
            }
            if let (Some(file), Some(span)) = (&self.file, self.values.get(path)) {
                return Place::in_text(file, &self.text, span.clone());
            }
            match path.rfind(['.', '[']) {
                Some(end) => path = &path[..end],
                None => {
                    return Place {
                        file: self.file().map(Path::to_owned),
                        ..Place::default()
                    };
                }
            }
        }
    }

    /// The place of the key of the setting at `path`. If the file does not have this key, the place of the setting.
    pub fn key_place(&self, path: &str) -> Place {
        match (&self.file, self.keys.get(path)) {
            (Some(file), Some(span)) => Place::in_text(file, &self.text, span.clone()),
            _ => self.place(path),
        }
    }
}

impl fmt::Debug for PackageOrigin {
    // The text is left out: it may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Origin")
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

impl PartialEq for PackageOrigin {
    fn eq(&self, _: &PackageOrigin) -> bool {
        true
    }
}

impl Place {
    /// A whole file.
    pub fn of_file(file: &Path) -> Place {
        Place {
            file: Some(file.to_owned()),
            ..Place::default()
        }
    }

    /// An argument of the command.
    pub fn of_argument(argument: &str) -> Place {
        Place {
            argument: Some(argument.to_owned()),
            ..Place::default()
        }
    }

    /// The bytes `span` of a file with this text.
    pub(super) fn in_text(file: &Path, text: &str, span: Range<usize>) -> Place {
        let start = floor_char_boundary(text, span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |end| end + 1);
        let line_end = text[line_start..]
            .find('\n')
            .map_or(text.len(), |length| line_start + length);
        let line = text[line_start..line_end].trim_end_matches('\r');
        let end = floor_char_boundary(text, span.end.max(start)).min(line_start + line.len());
        let column = text[line_start..start].chars().count() + 1;
        let width = text
            .get(start..end)
            .map_or(0, |meant| meant.chars().count());
        let line = match redact_line(line) {
            // If a password was hidden in the line, a caret below it would point at the wrong characters.
            Some(redacted) => Line {
                number: line_number(text, line_start),
                column,
                width: 0,
                text: redacted,
            },
            None => Line {
                number: line_number(text, line_start),
                column,
                width: width.max(1),
                text: line.to_owned(),
            },
        };
        Place {
            file: Some(file.to_owned()),
            line: Some(line),
            argument: None,
        }
    }

    /// The line with a caret below the marked part, ending with a newline; empty if there is no line to show.
    pub fn excerpt(&self) -> String {
        let Some(line) = &self.line else {
            return String::new();
        };
        // The width of a tab depends on the terminal, so blanks take its place.
        let text = line.text.replace('\t', " ");
        let mut excerpt = format!("{:>4} | {}\n", line.number, text.trim_end());
        if line.width > 0 {
            excerpt.push_str(&format!(
                "     | {}{}\n",
                " ".repeat(line.column - 1),
                "^".repeat(line.width)
            ));
        }
        excerpt
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.argument, &self.file, &self.line) {
            (Some(argument), ..) => f.write_str(argument),
            (None, Some(file), Some(line)) => {
                write!(f, "{}:{}:{}", file.display(), line.number, line.column)
            }
            (None, Some(file), None) => write!(f, "{}", file.display()),
            (None, None, _) => f.write_str("the package"),
        }
    }
}

fn line_number(text: &str, line_start: usize) -> usize {
    text.as_bytes()[..line_start]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
        + 1
}

fn floor_char_boundary(text: &str, position: usize) -> usize {
    let mut position = position.min(text.len());
    while !text.is_char_boundary(position) {
        position -= 1;
    }
    position
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str, span: Range<usize>) -> Place {
        Place::in_text(Path::new("p.toml"), text, span)
    }

    #[test]
    fn a_caret_stands_under_what_is_meant() {
        let text = "name = 'a'\r\n\u{e9} = wrong\r\nlast";
        let start = text.find("wrong").expect("it is there");
        let place = place(text, start..start + 5);
        assert_eq!(place.to_string(), "p.toml:2:5");
        assert_eq!(place.excerpt(), "   2 | \u{e9} = wrong\n     |     ^^^^^\n");
    }

    #[test]
    fn a_span_of_several_lines_ends_with_its_first() {
        assert_eq!(
            place("a = '''\nb'''", 4..11).excerpt(),
            "   1 | a = '''\n     |     ^^^\n"
        );
    }

    #[test]
    fn any_span_of_any_text_has_a_place() {
        let text = "a\n\u{20ac}\r\n\n";
        for start in 0..text.len() + 3 {
            for end in 0..text.len() + 3 {
                place(text, start..end).excerpt();
            }
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        let text = "url = 'postgresql://etl:secret@dw/x' wrong";
        assert_eq!(
            place(text, 38..43).excerpt(),
            "   1 | url = 'postgresql://etl:***@dw/x' wrong\n"
        );
    }
}
