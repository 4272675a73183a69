//! Ids of the things that rows are read from.

text_key! {
    /// The digest of a file's identity: the same wherever the command is given, and however its path is written.
    FileKey
}

text_key! {
    /// The digest of a file's identity and a range of its bytes. It names a split within its unit.
    SplitKey
}
