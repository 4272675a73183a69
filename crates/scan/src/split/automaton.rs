//! The dialect's automaton: the states of a reader between two bytes, and their transitions by each byte.
//!
//! [`crate::reference`] looks ahead: at a `\r` it reads the next byte, at a delimiter of three bytes all three. An
//! automaton reads one byte at a time. So its state is the reference's state, together with the bytes that were read
//! but whose meaning is still open. All reachable states are built from the rules, then states that no text can tell
//! apart are merged. Few remain: five for RFC 4180, three for COPY's text form, two without quotes and escapes.

use std::collections::HashMap;

use crate::dialect::{Dialect, Escape};
use crate::terminator::Terminator;

/// The state of the automaton between two bytes.
///
/// A number is valid for one dialect only. In every dialect [`State::FIRST`] is the state at the beginning of a file,
/// and the only state in which the next byte is the first of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State(pub(crate) u8);

impl State {
    /// The state at the beginning of a file: before the first byte of a record.
    pub const FIRST: State = State(0);

    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The position of the reader in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RecordPosition {
    /// Before the first byte of a record, a blank line or a comment.
    RecordStart,
    /// Before the first byte of any other field.
    FieldStart,
    /// In text without quotes, or in text after a closing quote.
    Unquoted,
    /// Inside quotes.
    Quoted,
    /// Directly after a closing quote.
    Closed,
    /// Inside a comment.
    Comment,
}

/// A state before equivalent ones are merged: a position, and the bytes after it that were read but whose meaning is
/// open.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PendingState {
    place: RecordPosition,
    pending: Vec<u8>,
}

/// The transition of a state by a byte.
#[derive(Clone, Copy, Debug)]
struct Transition {
    next: State,
    /// True if the byte is the last of a terminator, and the dialect counts lines by terminators.
    ends_line: bool,
}

/// The result of a search for a token at the beginning of a text.
enum Match {
    /// The text begins with a whole token of this many bytes.
    Whole(usize),
    /// The text is only the beginning of a token.
    Part,
    /// Neither of these.
    No,
}

/// The automaton of a dialect.
#[derive(Clone, Debug)]
pub(crate) struct Automaton {
    /// The class of each byte; bytes of one class are treated the same.
    class_of_byte: Box<[u8; 256]>,
    class_count: usize,
    /// The transitions by state, then by class.
    steps: Vec<Transition>,
    state_of_reading: HashMap<PendingState, State>,
}

impl Automaton {
    /// The automaton of a dialect that passes [`Dialect::check`].
    pub(crate) fn new(dialect: &Dialect) -> Automaton {
        let rules = Rules::of(dialect);
        let mut class_of_byte = Box::new([0; 256]);
        // One byte of each class. The first class has all bytes without a special meaning.
        let mut examples = vec![rules.ordinary_byte()];
        for byte in rules.special_bytes() {
            if class_of_byte[usize::from(byte)] == 0 {
                class_of_byte[usize::from(byte)] = examples.len() as u8;
                examples.push(byte);
            }
        }
        let (readings, steps) = rules.reach_all(&examples);
        let class_count = examples.len();
        let merged = merge_equal(&steps, class_count);
        let state_count = merged.iter().max().map_or(0, |last| last.index() + 1);
        let mut merged_steps = vec![None; state_count * class_count];
        for (steps, state) in steps.chunks(class_count).zip(&merged) {
            let merged_steps = &mut merged_steps[state.index() * class_count..];
            for ((next, ends_line), step) in steps.iter().zip(merged_steps) {
                *step = Some(Transition {
                    next: merged[*next],
                    ends_line: *ends_line,
                });
            }
        }
        Automaton {
            class_of_byte,
            class_count,
            steps: merged_steps
                .into_iter()
                .map(|step| step.expect("each state stands for a reading at least"))
                .collect(),
            state_of_reading: readings.into_iter().zip(merged).collect(),
        }
    }

    pub(crate) fn state_count(&self) -> usize {
        self.steps.len() / self.class_count
    }

    /// The state at a position with this number of bytes whose meaning is open, if there is one.
    pub(crate) fn state(&self, place: RecordPosition, pending: &[u8]) -> Option<State> {
        let reading = PendingState {
            place,
            pending: pending.to_vec(),
        };
        self.state_of_reading.get(&reading).copied()
    }

    #[inline]
    fn step(&self, state: State, byte: u8) -> Transition {
        let class = usize::from(self.class_of_byte[usize::from(byte)]);
        self.steps[state.index() * self.class_count + class]
    }

    /// The state after `text`, and how many lines its terminators end: zero if the dialect has a byte that ends lines.
    #[inline]
    pub(crate) fn run(&self, state: State, text: &[u8]) -> (State, u64) {
        let mut state = state;
        let mut line_count = 0;
        for byte in text {
            let step = self.step(state, *byte);
            line_count += u64::from(step.ends_line);
            state = step.next;
        }
        (state, line_count)
    }

    /// The number of bytes of `text` before its first record, and the number of lines that terminators end in these
    /// bytes.
    pub(crate) fn find_record(&self, state: State, text: &[u8]) -> Option<(usize, u64)> {
        let mut state = state;
        let mut line_count = 0;
        for (at, byte) in text.iter().enumerate() {
            if state == State::FIRST {
                return Some((at, line_count));
            }
            let step = self.step(state, *byte);
            line_count += u64::from(step.ends_line);
            state = step.next;
        }
        None
    }

    /// The number of bytes after which all states have become one, whatever the bytes are; `None` if some text keeps
    /// two of them apart forever.
    pub(crate) fn bytes_to_agree(&self) -> Option<usize> {
        let count = self.state_count();
        let mut known = HashMap::new();
        let pairs = (0..count).flat_map(|one| (0..one).map(move |other| (one, other)));
        let mut bytes = 0;
        for (one, other) in pairs {
            bytes = bytes.max(self.pair_to_agree(one, other, &mut known)?);
        }
        Some(bytes)
    }

    /// [`Automaton::bytes_to_agree`] for two states. While a pair is computed, it is in `known` without an answer. If
    /// such a pair is reached again, it depends on itself.
    fn pair_to_agree(
        &self,
        one: usize,
        other: usize,
        known: &mut HashMap<(usize, usize), Option<usize>>,
    ) -> Option<usize> {
        let pair = (one.min(other), one.max(other));
        if let Some(answer) = known.get(&pair) {
            return *answer;
        }
        known.insert(pair, None);
        let mut bytes = 1;
        for class in 0..self.class_count {
            let next_of = |state: usize| self.steps[state * self.class_count + class].next.index();
            let (one, other) = (next_of(pair.0), next_of(pair.1));
            if one != other {
                bytes = bytes.max(1 + self.pair_to_agree(one, other, known)?);
            }
        }
        known.insert(pair, Some(bytes));
        Some(bytes)
    }
}

/// The rules of [`crate::reference`], for a text after which more may follow.
struct Rules {
    delimiter: Vec<u8>,
    quote: Option<u8>,
    escape: Escape,
    comment: Option<u8>,
    terminators: Vec<Vec<u8>>,
    counts_terminators: bool,
}

impl Rules {
    fn of(dialect: &Dialect) -> Rules {
        let is_fixed = dialect.fixed.is_some();
        Rules {
            delimiter: match is_fixed {
                true => Vec::new(),
                false => dialect.delimiter.as_bytes().to_vec(),
            },
            quote: dialect.quote,
            escape: dialect.escape,
            comment: dialect.comment,
            terminators: match dialect.terminator {
                Terminator::Any => vec![b"\n".to_vec(), b"\r\n".to_vec()],
                Terminator::Lf => vec![b"\n".to_vec()],
                Terminator::CrLf => vec![b"\r\n".to_vec()],
                Terminator::Cr => vec![b"\r".to_vec()],
                Terminator::Text(text) => vec![text.as_bytes().to_vec()],
            },
            counts_terminators: dialect.line_byte().is_none(),
        }
    }

    fn special_bytes(&self) -> impl Iterator<Item = u8> {
        let escape = match self.escape {
            Escape::Byte(byte) => Some(byte),
            Escape::None | Escape::DoubledQuote => None,
        };
        let texts = self.terminators.iter().flatten().chain(&self.delimiter);
        let bytes = [self.quote, escape, self.comment].into_iter().flatten();
        texts.copied().chain(bytes)
    }

    fn ordinary_byte(&self) -> u8 {
        let is_special = |byte: &u8| self.special_bytes().any(|special| special == *byte);
        (0..=u8::MAX)
            .find(|byte| !is_special(byte))
            .expect("a dialect has few special bytes")
    }

    /// All pending states that a text can lead to, beginning with the state at the start of a file, and their
    /// transitions by each byte of `examples`: the index of the next state, and whether the byte ends a line.
    fn reach_all(&self, examples: &[u8]) -> (Vec<PendingState>, Vec<(usize, bool)>) {
        let mut readings = vec![PendingState {
            place: RecordPosition::RecordStart,
            pending: Vec::new(),
        }];
        let mut index_of: HashMap<PendingState, usize> = HashMap::from([(readings[0].clone(), 0)]);
        let mut steps = Vec::new();
        let mut at = 0;
        while at < readings.len() {
            for byte in examples {
                let (next, ends_line) = self.read(readings[at].clone(), *byte);
                let index = *index_of.entry(next.clone()).or_insert(readings.len());
                if index == readings.len() {
                    readings.push(next);
                }
                steps.push((index, ends_line));
            }
            at += 1;
        }
        (readings, steps)
    }

    /// The pending state after a byte, and true if the byte ends a line.
    fn read(&self, reading: PendingState, byte: u8) -> (PendingState, bool) {
        let PendingState {
            mut place,
            mut pending,
        } = reading;
        pending.push(byte);
        let mut ends_line = false;
        while !pending.is_empty() {
            let Some((next, byte_count)) = self.judge(place, &pending) else {
                break;
            };
            pending.drain(..byte_count);
            if next == RecordPosition::RecordStart {
                ends_line |= self.counts_terminators;
                // Otherwise a record would begin before the byte that shows it.
                assert!(
                    pending.is_empty(),
                    "`Dialect::check` refuses delimiters that hold the terminator"
                );
            }
            place = next;
        }
        (PendingState { place, pending }, ends_line)
    }

    /// The position after the first byte or bytes of `text`, and their number; `None` if the next bytes can make a
    /// difference.
    fn judge(&self, place: RecordPosition, text: &[u8]) -> Option<(RecordPosition, usize)> {
        let byte = text[0];
        let is_quote = self.quote == Some(byte);
        let is_escape = Escape::Byte(byte) == self.escape;
        if place == RecordPosition::Quoted {
            return match text.get(1) {
                None if is_escape => None,
                None if is_quote && self.escape == Escape::DoubledQuote => None,
                Some(_) if is_escape => Some((RecordPosition::Quoted, 2)),
                Some(next) if is_quote && self.escape == Escape::DoubledQuote => {
                    match self.quote == Some(*next) {
                        true => Some((RecordPosition::Quoted, 2)),
                        false => Some((RecordPosition::Closed, 1)),
                    }
                }
                _ if is_quote => Some((RecordPosition::Closed, 1)),
                _ => Some((RecordPosition::Quoted, 1)),
            };
        }
        match match_any(&self.terminators, text) {
            Match::Whole(byte_count) => return Some((RecordPosition::RecordStart, byte_count)),
            Match::Part => return None,
            Match::No => {}
        }
        if place == RecordPosition::Comment
            || place == RecordPosition::RecordStart && self.comment == Some(byte)
        {
            return Some((RecordPosition::Comment, 1));
        }
        if !self.delimiter.is_empty() {
            match match_any(std::slice::from_ref(&self.delimiter), text) {
                Match::Whole(byte_count) => return Some((RecordPosition::FieldStart, byte_count)),
                Match::Part => return None,
                Match::No => {}
            }
        }
        if is_quote
            && matches!(
                place,
                RecordPosition::RecordStart | RecordPosition::FieldStart
            )
        {
            return Some((RecordPosition::Quoted, 1));
        }
        if self.quote.is_none() && is_escape {
            return (text.len() > 1).then_some((RecordPosition::Unquoted, 2));
        }
        Some((RecordPosition::Unquoted, 1))
    }
}

fn match_any(texts: &[Vec<u8>], text: &[u8]) -> Match {
    if let Some(whole) = texts.iter().find(|whole| text.starts_with(whole)) {
        return Match::Whole(whole.len());
    }
    match texts.iter().any(|whole| whole.starts_with(text)) {
        true => Match::Part,
        false => Match::No,
    }
}

/// Merges the states that no text can tell apart, and returns the new state of each. This is Moore's algorithm: states
/// are divided by their output, then by the classes of their next states, until no class is divided any more. A record
/// begins only at the first state, so this state is never merged and stays the first.
fn merge_equal(steps: &[(usize, bool)], class_count: usize) -> Vec<State> {
    let mut parts: Vec<State> = (0..steps.len() / class_count)
        .map(|reading| State(u8::from(reading > 0)))
        .collect();
    loop {
        let mut part_of_signature = HashMap::new();
        let finer: Vec<State> = steps
            .chunks(class_count)
            .zip(&parts)
            .map(|(steps, part)| {
                let told: Vec<_> = steps
                    .iter()
                    .map(|(next, ends_line)| (parts[*next], *ends_line))
                    .collect();
                let count = u8::try_from(part_of_signature.len()).expect("there are few states");
                *part_of_signature
                    .entry((*part, told))
                    .or_insert(State(count))
            })
            .collect();
        if finer == parts {
            return parts;
        }
        parts = finer;
    }
}
