//! Passwords in connection URLs: found, and kept out of everything that is shown or written.

use std::ops::Range;

/// What stands where a password was.
const REDACTED: &str = "***";

/// The parameters of a URL, and the words of a connection string, that hold a secret.
const SECRET_WORDS: [&str; 2] = ["password", "sslpassword"];

/// The URL with every password in it replaced by `***`.
pub fn redacted_url(url: &str) -> String {
    if !url.contains("://")
        && !url.starts_with("embedded")
        && let Some(at) = url.rfind('@')
        && let Some(colon) = url[..at].find(':')
    {
        // The scheme was forgotten; what stands there may be a password all the same.
        return format!("{}:{REDACTED}{}", &url[..colon], &url[at..]);
    }
    redact_line(url).unwrap_or_else(|| url.to_owned())
}

/// Whether a URL or connection string holds a password.
pub fn url_has_password(url: &str) -> bool {
    !secrets(url).is_empty()
}

/// Whether the parameter `{name}` stands in a password of a URL.
pub fn password_takes(url: &str, name: &str) -> bool {
    let parameter = format!("{{{name}}}");
    let takes = |secret: Range<usize>| url[secret].contains(&parameter);
    secrets(url).into_iter().any(takes)
}

/// The URL without its passwords: not replaced, but left out, so that it can be used as it is
/// by someone who has the password elsewhere.
pub(super) fn url_without_password(url: &str) -> String {
    let mut rest = url.to_owned();
    for secret in secrets(url).into_iter().rev() {
        let mut cut = secret.clone();
        let before = &url[..secret.start];
        if let Some(word) = SECRET_WORDS.iter().rev().find(|word| {
            before
                .trim_end()
                .trim_end_matches('=')
                .trim_end()
                .ends_with(**word)
        }) {
            let words_end = before.trim_end().trim_end_matches('=').trim_end().len();
            cut.start = words_end - word.len();
            // One of the marks around a parameter goes with it.
            match url.as_bytes().get(cut.end) {
                Some(b'&') => cut.end += 1,
                _ => cut.start = cut.start.saturating_sub(1),
            }
        } else {
            // The colon before the password.
            cut.start -= 1;
        }
        rest.replace_range(cut, "");
    }
    rest
}

/// The line with every password in it replaced, where there is one. `${env:NAME}` is no
/// password: it says where one is.
pub(super) fn redact_line(line: &str) -> Option<String> {
    let secrets = secrets(line);
    if secrets.is_empty() {
        return None;
    }
    let mut redacted = line.to_owned();
    for secret in secrets.into_iter().rev() {
        redacted.replace_range(secret, REDACTED);
    }
    Some(redacted)
}

/// The bytes of every password in a text, in order and apart from each other.
fn secrets(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    found.extend(after_user(text));
    for word in SECRET_WORDS {
        let mut from = 0;
        while let Some(length) = find_word(&text[from..], word) {
            let start = from + length;
            let value = value_at(text, start);
            from = value.end.max(start);
            found.push(value);
        }
    }
    found.retain(|secret| {
        let secret = &text[secret.clone()];
        !secret.is_empty()
            && secret != REDACTED
            && !(secret.starts_with("${env:") && secret.find('}') == Some(secret.len() - 1))
    });
    found.sort_by_key(|secret| secret.start);
    let mut apart: Vec<Range<usize>> = Vec::new();
    for secret in found {
        match apart.last_mut() {
            Some(last) if secret.start < last.end => last.end = last.end.max(secret.end),
            _ => apart.push(secret),
        }
    }
    apart
}

/// The password of `scheme://user:password@host`. A password with an unencoded `/`, `?` or `@`
/// in it is found whole: rather too much is hidden than too little.
fn after_user(text: &str) -> Option<Range<usize>> {
    let start = authority_start(text)?;
    // In a line of a package the URL ends with the text that it is written in.
    let end = text[start..]
        .find(['"', '\'', ' ', '\t'])
        .map_or(text.len(), |length| start + length);
    let authority = &text[start..end];
    let query = authority.find('?').unwrap_or(authority.len());
    let at = authority[..query].rfind('@').or_else(|| {
        // `user:pass?word@host` has no `@` before its `?`; `host:5432/db?x=a@b` has a port.
        let colon = authority[..query].find(':')?;
        let port = authority[colon + 1..query].split('/').next()?;
        let is_port = port
            .split(',')
            .next()
            .is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
        (!is_port).then(|| authority.rfind('@'))?
    })?;
    let colon = authority[..at].find(':')?;
    Some(start + colon + 1..start + at)
}

/// Where user, password and host begin: behind the scheme, or behind what is left of one that
/// was mistyped (`postgres//`, `postgres:/`).
fn authority_start(text: &str) -> Option<usize> {
    if let Some(scheme) = text.find("://") {
        return Some(scheme + 3);
    }
    let slashes = text.find("//").map(|at| at + 2);
    slashes.or_else(|| {
        let scheme = text.find("postgres")?;
        Some(scheme + text[scheme..].find('/')? + 1)
    })
}

/// One past the `=` after `word`, where it stands as a whole word.
fn find_word(text: &str, word: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(length) = text[from..].find(word) {
        let start = from + length;
        let end = start + word.len();
        let alone = text[..start]
            .chars()
            .next_back()
            .is_none_or(|before| !before.is_alphanumeric() && before != '_');
        let after = text[end..].trim_start();
        if alone && after.starts_with('=') {
            return Some(text.len() - after.len() + 1);
        }
        from = end;
    }
    None
}

/// The bytes of the value that starts at `start`, in quotes or up to a blank or an `&`.
fn value_at(text: &str, start: usize) -> Range<usize> {
    let blanks = text[start..].len() - text[start..].trim_start().len();
    let start = start + blanks;
    let rest = &text[start..];
    match rest.chars().next() {
        Some(quote @ ('\'' | '"')) => {
            let inside = &rest[1..];
            let mut escaped = false;
            for (position, character) in inside.char_indices() {
                match character {
                    _ if escaped => escaped = false,
                    '\\' => escaped = true,
                    _ if character == quote => return start + 1..start + 1 + position,
                    _ => {}
                }
            }
            start + 1..text.len()
        }
        _ => {
            let length = rest.find(['&', ' ', '\t', '"', '\'']).unwrap_or(rest.len());
            start..start + length
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_in_passwords() {
        for (url, expected) in [
            ("postgresql://etl:{secret}@dw/x", true),
            ("postgresql://etl:a{secret}b@dw/x", true),
            ("postgresql://etl@dw/x?password={secret}", true),
            ("postgresql://{secret}@dw/x", false),
            ("postgresql://etl:{other}@dw/{secret}", false),
            ("postgresql://etl:${env:secret}@dw/x", false),
        ] {
            assert_eq!(password_takes(url, "secret"), expected, "{url}");
        }
    }

    #[test]
    fn a_password_is_hidden_where_the_scheme_was_forgotten() {
        assert_eq!(redacted_url("etl:secret@h/dw"), "etl:***@h/dw");
        assert_eq!(redacted_url("embedded:folder"), "embedded:folder");
    }

    macro_rules! redacts {
        ($($name:ident: $url:expr => $redacted:expr;)*) => {$(
            #[test]
            fn $name() {
                assert_eq!(redacted_url($url), $redacted);
                assert_eq!(url_has_password($url), $url != $redacted);
                assert_eq!(redacted_url($redacted), $redacted);
            }
        )*};
    }

    redacts! {
        no_user: "postgresql://dw/tpch" => "postgresql://dw/tpch";
        no_password: "postgresql://etl@dw:5432/tpch" => "postgresql://etl@dw:5432/tpch";
        password: "postgresql://etl:secret@dw:5432/tpch" => "postgresql://etl:***@dw:5432/tpch";
        at_in_password: "postgres://etl:s@cret@dw/tpch" => "postgres://etl:***@dw/tpch";
        slash_in_password: "postgres://etl:s/cret@dw/tpch" => "postgres://etl:***@dw/tpch";
        question_mark_in_password: "postgres://etl:s?cret@dw/x" => "postgres://etl:***@dw/x";
        at_in_query: "postgres://dw:5432/x?application_name=a@b" => "postgres://dw:5432/x?application_name=a@b";
        several_hosts: "postgres://a:5432,b:5433/x?options=a@b" => "postgres://a:5432,b:5433/x?options=a@b";
        in_query: "postgres://etl@dw/x?password=se%20cret&sslmode=require" => "postgres://etl@dw/x?password=***&sslmode=require";
        twice: "postgres://etl:a@dw/x?sslpassword=b" => "postgres://etl:***@dw/x?sslpassword=***";
        words: "host=dw password=secret user=etl" => "host=dw password=*** user=etl";
        words_quoted: r"host=dw password = 'se \' cret' user=etl" => "host=dw password = '***' user=etl";
        from_environment: "postgres://etl:${env:PASSWORD}@dw/x" => "postgres://etl:${env:PASSWORD}@dw/x";
        from_environment_and_more: "postgres://etl:${env:A}b@dw/x" => "postgres://etl:***@dw/x";
        colon_forgotten: "postgres//etl:secret@dw/x" => "postgres//etl:***@dw/x";
        slash_forgotten: "postgresql:/etl:secret@dw/x" => "postgresql:***@dw/x";
        embedded: "embedded:/tmp/a:b@c" => "embedded:/tmp/a:b@c";
        other_words: "postgres://dw/x?password_file=a" => "postgres://dw/x?password_file=a";
        empty_password: "postgres://etl:@dw/x" => "postgres://etl:@dw/x";
    }

    #[test]
    fn a_password_is_left_out() {
        for (url, without) in [
            ("postgres://etl:a@dw/x", "postgres://etl@dw/x"),
            ("postgres://etl@dw/x?password=b", "postgres://etl@dw/x"),
            (
                "postgres://etl@dw/x?password=b&a=c",
                "postgres://etl@dw/x?a=c",
            ),
            (
                "postgres://etl@dw/x?a=c&password=b",
                "postgres://etl@dw/x?a=c",
            ),
        ] {
            assert_eq!(url_without_password(url), without);
        }
    }
}
