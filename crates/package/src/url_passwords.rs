//! Finds passwords in connection URLs, and keeps them out of everything that is shown or written.

use std::ops::Range;

use inrush_rows::suggest::suggestion;

use crate::secrets::{HIDDEN as REDACTED, note_secret};

/// The words of a connection string, and the keys of a package, whose values are secrets.
const SECRET_WORDS: [&str; 7] = [
    "password",
    "sslpassword",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
];

/// Parameters of URLs whose values are not secrets. The value of any other parameter is hidden, because its name may be
/// misspelt.
const PUBLIC_WORDS: &[&str] = &[
    "account",
    "application_name",
    "cache",
    "catalog",
    "certificate_authority",
    "channel_binding",
    "client_encoding",
    "columnstore",
    "commit_megabytes",
    "connect_timeout",
    "database",
    "dbname",
    "encrypt",
    "fallback_application_name",
    "filegroups",
    "gssdelegation",
    "gssencmode",
    "gsslib",
    "host",
    "host_name_in_certificate",
    "hostaddr",
    "immutable",
    "integrated_security",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "krbsrvname",
    "load_balance_hosts",
    "login_timeout_seconds",
    "max_protocol_version",
    "min_protocol_version",
    "mode",
    "options",
    "packet_size",
    "passfile",
    "port",
    "range",
    "region",
    "replication",
    "require_auth",
    "requirepeer",
    "requiressl",
    "role",
    "rows_per_batch",
    "schema",
    "server_spn",
    "service",
    "silence_seconds",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "sslcert",
    "sslcertmode",
    "sslcompression",
    "sslcrl",
    "sslcrldir",
    "sslkey",
    "sslmode",
    "sslnegotiation",
    "sslrootcert",
    "sslsni",
    "switch",
    "table_lock",
    "target_session_attrs",
    "tcp_user_timeout",
    "trust_server_certificate",
    "user",
    "vfs",
    "warehouse",
];

/// The URL with `***` for every password and for everything that may be one: the values of unknown parameters, and a
/// text where a port should be.
pub fn redacted_url(url: &str) -> String {
    if url.trim_start().starts_with("adbc:")
        && let Some((name, _)) = url.split_once('?')
    {
        // The name of a driver has no parameters, but somebody may write some.
        return format!("{name}?{REDACTED}");
    }
    if !url.contains("://")
        && !url.starts_with("embedded")
        && let Some(at) = url.rfind('@')
        && let Some(colon) = url[..at].find(':')
    {
        // The scheme is missing; the text may still contain a password.
        return format!("{}:{REDACTED}{}", &url[..colon], &url[at..]);
    }
    blanked(url, hidden(url)).unwrap_or_else(|| url.to_owned())
}

/// Notes the secrets of a URL, or of another value that may contain passwords, so that no output shows them.
pub(super) fn note_secrets(url: &str) {
    for secret in secrets(url) {
        let secret = &url[secret];
        note_secret(secret);
        if let Some(decoded) = percent_decoded(secret) {
            note_secret(&decoded);
        }
    }
}

/// Notes the passwords that a statement gives to a role or a user mapping: `PASSWORD 'x'`.
pub(super) fn note_secrets_of_sql(statement: &str) {
    let lower = statement.to_ascii_lowercase();
    for (at, word) in lower.match_indices("password") {
        let after = &statement[at + word.len()..];
        let rest = after.trim_start_matches([' ', '\t', '\n', '=', '"', 'E', 'e']);
        if let Some(value) = rest.strip_prefix('\'')
            && let Some(end) = value.find('\'')
        {
            note_secret(&value[..end]);
        }
    }
}

/// The text without its percent-encoding, if it has any.
pub(super) fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let pair = after
            .get(..2)
            .and_then(|pair| std::str::from_utf8(pair).ok());
        match pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes)
        .ok()
        .filter(|decoded| decoded != text)
}

/// True if a URL or connection string holds a password.
pub fn url_has_password(url: &str) -> bool {
    !secrets(url).is_empty()
}

/// True if the parameter `{name}` is part of a password in a URL.
pub fn password_takes(url: &str, name: &str) -> bool {
    let parameter = format!("{{{name}}}");
    let takes = |secret: Range<usize>| url[secret].contains(&parameter);
    secrets(url).into_iter().any(takes)
}

/// The URL without its passwords: they are left out, so that someone who has the password elsewhere can use the URL.
pub(super) fn url_without_password(url: &str) -> String {
    let mut rest = url.to_owned();
    for secret in secrets(url).into_iter().rev() {
        let mut cut = secret.clone();
        let mut before = url[..secret.start].trim_end();
        if let Some(unquoted) = before.strip_suffix(['\'', '"']) {
            before = unquoted.trim_end();
            cut.end = (cut.end + 1).min(url.len());
        }
        if let Some(word) = before.strip_suffix('=') {
            let word = word.trim_end();
            cut.start = word.rfind(['?', '&', ' ', ';']).map_or(0, |at| at + 1);
            // The mark before or after a parameter is removed with it.
            match url.as_bytes().get(cut.end) {
                Some(b'&') => cut.end += 1,
                _ => cut.start = cut.start.saturating_sub(1),
            }
        } else {
            // The colon before the password is removed, too.
            cut.start -= 1;
        }
        rest.replace_range(cut, "");
    }
    rest
}

/// The line with every password in it replaced, if there is one. `${env:NAME}` is not a password but the place of one.
pub(super) fn redact_line(line: &str) -> Option<String> {
    let mut redacted = blanked(line, hidden(line));
    let Some((key, rest)) = line.split_once('=') else {
        return redacted;
    };
    if !matches!(key.trim(), "url" | "uri") {
        return redacted;
    }
    // A URL without slashes is recognized only by its key.
    let value = rest.trim();
    if let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\''))
        && let Some(length) = value[1..].find(quote)
    {
        let url = &value[1..=length];
        let shown = redacted_url(url);
        if shown != url {
            redacted = Some(
                redacted
                    .unwrap_or_else(|| line.to_owned())
                    .replace(url, &shown),
            );
        }
    }
    redacted
}

fn blanked(line: &str, secrets: Vec<Range<usize>>) -> Option<String> {
    if secrets.is_empty() {
        return None;
    }
    let mut redacted = line.to_owned();
    for secret in secrets.into_iter().rev() {
        redacted.replace_range(secret, REDACTED);
    }
    Some(redacted)
}

/// The byte ranges of all passwords in a text, in order and without overlap.
fn secrets(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    found.extend(after_user(text));
    found.extend(parameters(text).filter_map(|(name, value)| is_secret(name).then_some(value)));
    let lower = text.to_ascii_lowercase();
    for word in SECRET_WORDS {
        let mut from = 0;
        while let Some(length) = find_word(&lower[from..], word) {
            let start = from + length;
            let value = value_at(text, start);
            from = value.end.max(start);
            found.push(value);
        }
    }
    apart(text, found)
}

/// The ranges of passwords, and of texts that may be passwords.
fn hidden(text: &str) -> Vec<Range<usize>> {
    let mut found = secrets(text);
    if text.contains("://") {
        let is_unknown = |name: &str| !PUBLIC_WORDS.contains(&name);
        found
            .extend(parameters(text).filter_map(|(name, value)| is_unknown(name).then_some(value)));
        found.extend(no_port(text));
    }
    apart(text, found)
}

/// True if the name of an option says that its value is a secret.
pub fn names_secret(key: &str) -> bool {
    const PARTS: [&str; 14] = [
        "password",
        "passwd",
        "passphrase",
        "secret",
        "token",
        "credential",
        "private_key",
        "api_key",
        "apikey",
        "access_key",
        "account_key",
        "authorization",
        "bearer",
        "call_header",
    ];
    const WORDS: [&str; 4] = ["pwd", "pat", "sas", "pass"];
    let key = key.to_lowercase();
    // A command that prints a secret is not a secret itself.
    if key.ends_with("_command") {
        return false;
    }
    let mut words = key.split(|c: char| !c.is_ascii_alphanumeric());
    PARTS.iter().any(|part| key.contains(part)) || words.any(|word| WORDS.contains(&word))
}

fn is_secret(name: &str) -> bool {
    !PUBLIC_WORDS.contains(&name)
        && (names_secret(name) || suggestion(name, ["password", "sslpassword"]).is_some())
}

fn apart(text: &str, mut found: Vec<Range<usize>>) -> Vec<Range<usize>> {
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

/// The password of `scheme://user:password@host`. A password with an unencoded `/`, `?` or `@` in it is found whole; in
/// doubt, too much is hidden.
fn after_user(text: &str) -> Option<Range<usize>> {
    let (start, end) = url_in(text)?;
    let authority = &text[start..end];
    let query = query_start(authority).unwrap_or(authority.len());
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
    let colon = colon_outside_braces(&authority[..at])?;
    Some(start + colon + 1..start + at)
}

/// The first colon that does not belong to `${env:NAME}`.
fn colon_outside_braces(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

/// The range of the URL in a text, from its user or host on. The URL ends at the end of the text or, in a line of a
/// package, at the closing quote.
fn url_in(text: &str) -> Option<(usize, usize)> {
    let start = authority_start(text)?;
    let scheme = text[..start]
        .rfind(['"', '\'', ' ', '\t', '='])
        .map_or(0, |at| at + 1);
    let ends: &[char] = match text[..scheme].chars().next_back() {
        None => return Some((start, text.len())),
        Some('"') => &['"'],
        Some('\'') => &['\''],
        Some(_) => &['"', '\'', ' ', '\t'],
    };
    let end = text[start..]
        .find(ends)
        .map_or(text.len(), |length| start + length);
    Some((start, end))
}

/// The position of the `?` before the parameters. A `?` in a password is followed by no parameters, or by an `@` before
/// any known one.
fn query_start(authority: &str) -> Option<usize> {
    let is_query = |query: &str| {
        query.split('&').all(|pair| {
            pair.is_empty()
                || pair.split_once('=').is_some_and(|(name, value)| {
                    !name.contains(['@', '/', ':'])
                        && (!value.contains('@') || PUBLIC_WORDS.contains(&name) || is_secret(name))
                })
        })
    };
    authority
        .match_indices('?')
        .map(|(at, _)| at)
        .find(|at| is_query(&authority[at + 1..]))
}

/// The parameters of the URL in a text: their names, and the bytes of their values.
fn parameters(text: &str) -> impl Iterator<Item = (&str, Range<usize>)> {
    let found = url_in(text).and_then(|(start, end)| {
        let query = query_start(&text[start..end])?;
        Some((start + query + 1, end))
    });
    // `file:x?token=...` has no slashes.
    let found = found.or_else(|| {
        let is_plain = !text.contains(['"', '\'', ' ']);
        let at = text.find('?').filter(|_| is_plain)?;
        Some((at + 1, text.len()))
    });
    let (mut at, end) = found.unwrap_or((0, 0));
    std::iter::from_fn(move || {
        while at < end {
            let start = at;
            let length = text[at..end].find('&').unwrap_or(end - at);
            at = start + length + 1;
            if let Some((name, _)) = text[start..start + length].split_once('=') {
                return Some((name, start + name.len() + 1..start + length));
            }
        }
        None
    })
}

/// The text where a port should be, if it is not a port: `user:password` without a host.
fn no_port(text: &str) -> Option<Range<usize>> {
    let (start, end) = url_in(text)?;
    let authority = &text[start..end];
    let hosts = &authority[..authority.find(['/', '?']).unwrap_or(authority.len())];
    if hosts.contains(['@', '{', '[']) {
        return None;
    }
    let colon = hosts.find(':')?;
    let is_ports = hosts.split(',').all(|host| {
        let port = host.split_once(':').map_or("", |(_, port)| port);
        port.bytes().all(|byte| byte.is_ascii_digit())
    });
    (!is_ports).then(|| start + colon + 1..start + hosts.len())
}

/// The position where user, password and host begin: after the scheme, or after a mistyped one (`postgres//`,
/// `postgres:/`).
fn authority_start(text: &str) -> Option<usize> {
    if let Some(scheme) = text.find("://") {
        return Some(scheme + 3);
    }
    let slashes = text.find("//").map(|at| at + 2);
    slashes.or_else(|| {
        let scheme = text.find("postgres")?;
        let rest = text[scheme..].trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let authority = rest.trim_start_matches([':', '/']);
        (authority.len() < rest.len()).then(|| text.len() - authority.len())
    })
}

/// The position after `word` and its `=`, if `word` is a whole word there.
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

/// The range of the value that begins at `start`: in quotes, or up to a blank or an `&`.
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
            let length = rest
                .find(['&', ';', ' ', '\t', '"', '\''])
                .unwrap_or(rest.len());
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
        assert_eq!(redacted_url("adbc:sqlite?key=secret"), "adbc:sqlite?***");
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
        user_from_environment: "postgres://${env:USER}@dw/x" => "postgres://${env:USER}@dw/x";
        both_from_environment: "postgres://${env:USER}:${env:WORD}@dw/x" => "postgres://${env:USER}:${env:WORD}@dw/x";
        from_environment_and_more: "postgres://etl:${env:A}b@dw/x" => "postgres://etl:***@dw/x";
        colon_forgotten: "postgres//etl:secret@dw/x" => "postgres//etl:***@dw/x";
        slash_forgotten: "postgresql:/etl:secret@dw/x" => "postgresql:***@dw/x";
        embedded: "embedded:/tmp/a:b@c" => "embedded:/tmp/a:b@c";
        other_words: "postgres://dw/x?password_file=a" => "postgres://dw/x?password_file=***";
        misspelt: "postgres://etl@dw/x?passwort=a&sslmode=require" => "postgres://etl@dw/x?passwort=***&sslmode=require";
        at_and_question_mark: "postgres://etl:a@b?c@dw/x" => "postgres://etl:***@dw/x";
        blank_in_password: "postgres://etl:a b@dw/x" => "postgres://etl:***@dw/x";
        of_a_driver: "adbc:postgresql://u:pw@h" => "adbc:postgresql://u:***@h";
        of_a_bucket: "parquet:s3://key:secret@bucket/x" => "parquet:s3://key:***@bucket/x";
        of_a_file: "duckdb:md:db?motherduck_token=abc" => "duckdb:md:db?motherduck_token=***";
        of_windows: "Server=h;Uid=u;Pwd=pw;Database=d" => "Server=h;Uid=u;Pwd=***;Database=d";
        empty_password: "postgres://etl:@dw/x" => "postgres://etl:@dw/x";
    }

    #[test]
    fn what_may_be_a_password_is_not_shown() {
        for (url, shown) in [
            ("postgres://dw/x?geheim=a", "postgres://dw/x?geheim=***"),
            ("postgres://etl:secret", "postgres://etl:***"),
            (
                "postgres://etl:secret/x?mode=a",
                "postgres://etl:***/x?mode=a",
            ),
            ("postgres://a:5432,b/x", "postgres://a:5432,b/x"),
            ("postgres://[::1]:5432/x", "postgres://[::1]:5432/x"),
            ("postgres://${env:HOST}/x", "postgres://${env:HOST}/x"),
        ] {
            assert_eq!(redacted_url(url), shown);
        }
        assert_eq!(
            redact_line("url = \"postgresql://u:a b'c@h/x\" # y").as_deref(),
            Some("url = \"postgresql://u:***@h/x\" # y")
        );
        for (line, shown) in [
            (
                "url = \"postgresql:u:secret@h/d\"",
                "url = \"postgresql:***@h/d\"",
            ),
            ("url = 'etl:secret@h/dw'", "url = 'etl:***@h/dw'"),
        ] {
            let redacted = redact_line(line).expect(line);
            assert!(!redacted.contains("secret"), "{redacted} and not {shown}");
        }
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
            (
                "postgres://etl@dw/x?passwort=b&a=c",
                "postgres://etl@dw/x?a=c",
            ),
            ("host=dw password='a b' user=etl", "host=dw user=etl"),
        ] {
            assert_eq!(url_without_password(url), without);
        }
    }
}
