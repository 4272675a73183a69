//! Ids of the things that rows are read from.

text_key! {
    /// The digest of a file's identity: the same in any working folder, and for any spelling of its path.
    FileKey
}

text_key! {
    /// The digest of a file's identity and a range of its bytes. It identifies a split within its unit.
    SplitKey
}
