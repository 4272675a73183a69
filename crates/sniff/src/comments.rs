//! The comments of a package that was guessed, for the person who edits it.

use inrush_package::Comments;

use super::guess::Guess;

/// The comments that say what was seen and what is unsure.
pub(super) fn of(guess: &Guess) -> Comments {
    let mut beginning = vec![format!(
        "Guessed from {}: {}.",
        named(guess),
        guess.extent()
    )];
    if !guess.is_everything {
        beginning.push("`inrush init --all` looks at every row.".to_owned());
    }
    let unsure = guess.all_unsure();
    if !unsure.is_empty() {
        beginning.push(String::new());
        beginning.push("Unsure:".to_owned());
        beginning.extend(unsure.iter().map(|unsure| format!("- {unsure}")));
    }
    Comments {
        beginning,
        format: guess.seen.clone(),
        columns: guess
            .columns
            .iter()
            .map(|column| {
                let mut lines = vec![column.seen.clone()];
                if !column.why.is_empty() {
                    lines.push(column.why.clone());
                }
                lines
            })
            .collect(),
    }
}

fn named(guess: &Guess) -> String {
    let first = guess
        .files
        .first()
        .map(|file| file.display().to_string())
        .unwrap_or_default();
    match guess.files.len() {
        0 | 1 => first,
        count => format!("{first} and {} more", count - 1),
    }
}
