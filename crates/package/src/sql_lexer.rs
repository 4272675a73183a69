//! Finds out which part of a statement contains a value: plain SQL, a text, a name or a comment.
//!
//! It follows PostgreSQL's lexical structure (`scan.l`), which DuckDB shares. The lexer reads a statement from its
//! beginning, piece by piece while values are inserted. It never looks ahead, because the next text may be a value,
//! too.

/// The part of a statement at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SqlPlace {
    /// Plain SQL, outside of texts, quoted names and comments.
    Plain(Word),
    /// `'...'`, in which a backslash is an ordinary character.
    Text,
    /// `E'...'`, where a backslash escapes.
    Escapes,
    /// `"..."`.
    Name,
    /// `$tag$...$tag$`.
    Dollar,
    /// A comment after `--`, or in `/* */`.
    Comment,
    /// A position that servers read differently, or where a value would become part of a `$tag$`.
    Unclear,
}

/// The word that ends at the current position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    None,
    /// A keyword or a name; the letter, if it is a single one (`E'...'`).
    Letters(Option<char>),
    Number,
    /// `1e`, `0x1`: servers end such a number at different positions.
    NumberAndLetters,
}

#[derive(Debug)]
enum State {
    Plain,
    Text {
        escapes: bool,
    },
    Name,
    /// `$` and a possible tag.
    Tag(String),
    /// In `$tag$`: the tag, and the characters since the last `$`.
    Dollar {
        tag: String,
        tail: Option<String>,
    },
    Line,
    Block {
        depth: usize,
    },
    Unclear,
}

/// The end of a text: a quote directly after it continues the text, and so does a quote on a later line.
#[derive(Clone, Copy, Debug)]
struct EndedQuote {
    escapes: bool,
    is_next: bool,
    newline: bool,
}

/// The state of the lexer.
#[derive(Debug)]
pub(super) struct SqlLexer {
    state: State,
    word: Word,
    /// The previous character, if it belongs to the same state.
    last: Option<char>,
    ended: Option<EndedQuote>,
    /// `\` in `E'...'`.
    escaped: bool,
    /// The value that ends here, if any: the kind of its token, and its parameter.
    value: Option<(ValueKind, String)>,
    merged: Option<String>,
}

/// The kind of token that an inserted value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Number,
    Text,
    Name,
}

impl SqlLexer {
    pub(super) fn new() -> SqlLexer {
        SqlLexer {
            state: State::Plain,
            word: Word::None,
            last: None,
            ended: None,
            escaped: false,
            value: None,
            merged: None,
        }
    }

    /// The part of the statement that the next character is in.
    pub(super) fn place(&self) -> SqlPlace {
        match &self.state {
            State::Plain => SqlPlace::Plain(self.word),
            State::Text { escapes: false } => SqlPlace::Text,
            State::Text { escapes: true } => SqlPlace::Escapes,
            State::Name => SqlPlace::Name,
            State::Dollar { .. } => SqlPlace::Dollar,
            State::Line | State::Block { .. } => SqlPlace::Comment,
            State::Tag(_) | State::Unclear => SqlPlace::Unclear,
        }
    }

    /// True if a quoted text that comes next would continue the text before it.
    pub(super) fn continues_text(&self) -> bool {
        self.ended
            .is_some_and(|ended| ended.is_next || ended.newline)
    }

    pub(super) fn read(&mut self, text: &str) {
        text.chars().for_each(|c| self.step(c));
    }

    /// Reads a value that is a token, or the end of one. The statement must not continue that token.
    pub(super) fn read_value(&mut self, text: &str, kind: ValueKind, parameter: &str) {
        self.read(text);
        self.value = Some((kind, parameter.to_owned()));
    }

    /// The parameter whose value the statement continued, as in `{id}x10` and `{name:literal}'more'`.
    pub(super) fn merged(&self) -> Option<&str> {
        self.merged.as_deref()
    }

    /// Records that a character continues the value before it.
    fn look_at_value(&mut self, c: char) {
        let Some((kind, parameter)) = self.value.take() else {
            return;
        };
        let (goes_on, is_still_next) = match kind {
            ValueKind::Number => (
                c == '.' || (is_of_word(c) && !c.is_ascii_digit()),
                c.is_ascii_digit(),
            ),
            ValueKind::Text => (c == '\'' && self.continues_text(), self.ended.is_some()),
            ValueKind::Name => (c == '"', false),
        };
        if goes_on {
            self.merged = Some(parameter);
        } else if is_still_next {
            self.value = Some((kind, parameter));
        }
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.word = Word::None;
        self.last = None;
        self.ended = None;
    }

    fn step(&mut self, c: char) {
        match &mut self.state {
            State::Plain => self.step_plain(c),
            State::Text { escapes } => {
                let escapes = *escapes;
                if self.escaped {
                    self.escaped = false;
                } else if c == '\\' && escapes {
                    self.escaped = true;
                } else if c == '\'' {
                    self.enter(State::Plain);
                    self.ended = Some(EndedQuote {
                        escapes,
                        is_next: true,
                        newline: false,
                    });
                }
            }
            State::Name if c == '"' => self.enter(State::Plain),
            State::Tag(tag) => {
                let is_tag = c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
                if c == '$' {
                    let tag = std::mem::take(tag);
                    self.enter(State::Dollar { tag, tail: None });
                } else if is_odd_blank(c) {
                    self.enter(State::Unclear);
                } else if is_tag || (c.is_ascii_digit() && !tag.is_empty()) {
                    tag.push(c);
                } else {
                    // A `$` alone, and a word.
                    let word = match tag.chars().next() {
                        None => Word::None,
                        first => Word::Letters(first.filter(|_| tag.chars().nth(1).is_none())),
                    };
                    self.enter(State::Plain);
                    self.word = word;
                    self.step_plain(c);
                }
            }
            State::Dollar { tag, tail } => match (c, &mut *tail) {
                ('$', Some(read)) if read == tag => self.enter(State::Plain),
                ('$', _) => *tail = Some(String::new()),
                // The tag and one more character are enough to compare.
                (_, Some(read)) if read.len() <= tag.len() => read.push(c),
                _ => {}
            },
            State::Line => {
                if matches!(c, '\n' | '\r') {
                    let ended = self.ended;
                    self.enter(State::Plain);
                    self.ended = ended.map(|ended| EndedQuote {
                        newline: true,
                        ..ended
                    });
                }
            }
            State::Block { depth } => match (self.last, c) {
                (Some('*'), '/') if *depth == 1 => self.enter(State::Plain),
                (Some('*'), '/') => {
                    *depth -= 1;
                    self.last = None;
                }
                (Some('/'), '*') => {
                    *depth += 1;
                    self.last = None;
                }
                _ => self.last = Some(c),
            },
            State::Name | State::Unclear => {}
        }
    }

    fn step_plain(&mut self, c: char) {
        let last = self.last.replace(c);
        if last == Some('-') && c != '-' {
            self.ended = None;
        }
        self.look_at_value(c);
        match c {
            '\'' => {
                let word = self.word;
                let ended = self.ended;
                match (ended, word) {
                    (Some(ended), _) if ended.is_next || ended.newline => {
                        self.enter(State::Text {
                            escapes: ended.escapes,
                        });
                    }
                    (_, Word::NumberAndLetters) => self.enter(State::Unclear),
                    (_, word) => {
                        let escapes = matches!(word, Word::Letters(Some('e' | 'E')));
                        self.enter(State::Text { escapes });
                    }
                }
            }
            // `""` continues the name, as if another quoted part began.
            '"' => self.enter(State::Name),
            '-' if last == Some('-') => {
                let ended = self.ended;
                self.enter(State::Line);
                self.ended = ended;
            }
            '*' if last == Some('/') => self.enter(State::Block { depth: 1 }),
            '$' if !matches!(self.word, Word::Letters(_)) => {
                let is_clear = self.word != Word::NumberAndLetters;
                self.enter(if is_clear {
                    State::Tag(String::new())
                } else {
                    State::Unclear
                });
            }
            _ if is_odd_blank(c) => self.enter(State::Unclear),
            _ if is_of_word(c) => {
                self.ended = None;
                self.word = match self.word {
                    Word::None if c.is_ascii_digit() => Word::Number,
                    Word::None => Word::Letters(Some(c)),
                    Word::Letters(_) => Word::Letters(None),
                    Word::Number if c.is_ascii_digit() => Word::Number,
                    Word::Number | Word::NumberAndLetters => Word::NumberAndLetters,
                };
            }
            _ => {
                self.word = Word::None;
                self.ended = match (self.ended, c) {
                    (Some(ended), ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c' | '-') => {
                        Some(EndedQuote {
                            is_next: false,
                            newline: ended.newline || matches!(c, '\n' | '\r'),
                            ..ended
                        })
                    }
                    _ => None,
                };
            }
        }
    }
}

/// True if this character continues a word.
fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$') || !c.is_ascii()
}

/// Characters that are blanks to DuckDB and letters to PostgreSQL.
fn is_odd_blank(c: char) -> bool {
    !c.is_ascii() && (c.is_whitespace() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{feff}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told() {
        let word = |letter| SqlPlace::Plain(Word::Letters(letter));
        let none = SqlPlace::Plain(Word::None);
        for (before, expected) in [
            ("id = ", none),
            ("id = '", SqlPlace::Text),
            ("'it''s", SqlPlace::Text),
            ("'it''s'", none),
            (r"'\'", none),
            (r"E'it\'s", SqlPlace::Escapes),
            (r"E'it\'s' ", none),
            (r"E'\\' ", none),
            (r"nameE'\' ", none),
            ("E'a'\n -- b\n '", SqlPlace::Escapes),
            ("E'a' '", SqlPlace::Text),
            ("E'a' - \n '", SqlPlace::Text),
            ("E'a' /* \n */ '", SqlPlace::Text),
            ("1E'", SqlPlace::Unclear),
            ("U&'", SqlPlace::Text),
            ("\"O'x", SqlPlace::Name),
            ("\"O\"\"x", SqlPlace::Name),
            ("\"O'x\" ", none),
            ("/* don't */ ", none),
            ("/* a /* b */ ", SqlPlace::Comment),
            ("/*/ ", SqlPlace::Comment),
            ("/* /* */*/ ", none),
            ("-- don't", SqlPlace::Comment),
            ("-- don't\n", none),
            ("3--", SqlPlace::Comment),
            ("$$ it's", SqlPlace::Dollar),
            ("$$ it's $$", none),
            ("$a$ $$ $b$ $a", SqlPlace::Dollar),
            ("$a$ $$a$", none),
            ("$", SqlPlace::Unclear),
            ("$a", SqlPlace::Unclear),
            ("$1", SqlPlace::Plain(Word::Number)),
            ("$1$a$", SqlPlace::Dollar),
            (r"$E'\'", SqlPlace::Escapes),
            ("a$b$ ", none),
            ("sales_", word(None)),
            ("e", word(Some('e'))),
            ("1", SqlPlace::Plain(Word::Number)),
            ("0x", SqlPlace::Plain(Word::NumberAndLetters)),
            ("a\u{a0}", SqlPlace::Unclear),
        ] {
            let mut lexer = SqlLexer::new();
            lexer.read(before);
            assert_eq!(lexer.place(), expected, "{before}");
        }
    }
}
