//! The IDs in plans, ledgers and reports, each with its own type.
//!
//! A key is a text: a digest that the engine computes, or that a ledger returns. Its clones share the text, because a
//! run may have a hundred thousand units and files. An ID is created explicitly where it is computed or read, and
//! converted explicitly into text where it is written.

/// A type for keys: a text that is compared, ordered, printed and serialised as it is.
macro_rules! text_key {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(std::sync::Arc<str>);

        impl $name {
            /// The key with this text, as computed or as stored in a ledger. Any text is accepted, because a ledger of
            /// another version has keys of another form.
            pub fn new(text: impl Into<std::sync::Arc<str>>) -> $name {
                $name(text.into())
            }

            /// The text, as it is written in ledgers and plans.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                String::deserialize(deserializer).map($name::new)
            }
        }
    };
}

mod run;
mod source;
mod unit;

pub use run::{RunId, RunKey, RunName};
pub use source::{FileKey, SplitKey};
pub use unit::UnitKey;

/// Digits of a key in the names of files and tables.
pub const SHORT_DIGITS: usize = 16;

/// The first digits of a key; all of a shorter one.
fn short(key: &str) -> &str {
    key.get(..SHORT_DIGITS).unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_printed_and_serialised_as_they_were_written() {
        let key = UnitKey::new("0123456789abcdef0123.2");
        assert_eq!(key.to_string(), "0123456789abcdef0123.2");
        assert_eq!(format!("{key:?}"), "\"0123456789abcdef0123.2\"");
        assert_eq!(key.short(), "0123456789abcdef");
        assert_eq!(UnitKey::new("short").short(), "short");
        let json = serde_json::to_string(&(RunId::new(7), RunKey::new("k"), &key)).unwrap();
        assert_eq!(json, r#"[7,"k","0123456789abcdef0123.2"]"#);
        let read: (RunId, RunKey, UnitKey) = serde_json::from_str(&json).unwrap();
        assert_eq!(read, (RunId::new(7), RunKey::new("k"), key));
        let name = RunName::new("20261122T190822Z-demo-24ce22");
        assert_eq!(
            serde_json::to_string(&name).unwrap(),
            r#""20261122T190822Z-demo-24ce22""#
        );
    }

    #[test]
    fn a_run_id_is_a_number() {
        assert_eq!("12".parse(), Ok(RunId::new(12)));
        assert!("twelve".parse::<RunId>().is_err());
        assert_eq!(RunId::new(12).next(), RunId::new(13));
        assert!(RunId::new(9) < RunId::new(12));
    }
}
