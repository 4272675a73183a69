//! A place in a text that is read from left to right.

/// The bytes that are left to read.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    /// The bytes that are not read yet.
    pub rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// A cursor at the beginning of a text.
    pub fn new(text: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: text }
    }

    /// True if all bytes are read.
    pub fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte, not read yet.
    pub fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Reads this byte, if it is the next.
    pub fn eat(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        if is_next {
            self.rest = &self.rest[1..];
        }
        is_next
    }

    /// Reads bytes as long as they fulfil a condition.
    pub fn take_while(&mut self, is_wanted: impl Fn(u8) -> bool) -> &'a [u8] {
        let count = self
            .rest
            .iter()
            .position(|byte| !is_wanted(*byte))
            .unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        taken
    }

    /// Reads digits up to the first other byte.
    pub fn digits(&mut self) -> &'a [u8] {
        self.take_while(|byte| byte.is_ascii_digit())
    }

    /// Reads exactly this many digits as a number.
    pub fn number_of(&mut self, count: usize) -> Option<u32> {
        let digits = self.rest.get(..count)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.rest = &self.rest[count..];
        number(digits).and_then(|number| u32::try_from(number).ok())
    }

    /// Reads one or two digits as a number.
    pub fn number_of_one_or_two(&mut self) -> Option<u32> {
        self.number_of(2).or_else(|| self.number_of(1))
    }
}

/// Digits as a number; `None` if there are none or too many.
pub fn number(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0i64, |value, digit| {
        value.checked_mul(10)?.checked_add(i64::from(digit - b'0'))
    })
}
