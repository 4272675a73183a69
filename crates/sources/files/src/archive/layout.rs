//! Accounts for the bytes of a zip archive: each must belong to a member that the directory lists, or to the directory.
//!
//! A zip archive is read from its end. A reader that trusts the directory alone skips everything that the directory
//! does not list: the first of two archives that were joined (`cat a.zip b.zip`), members beyond the count in the end
//! record, members that a tool lost. Rows would be missing silently, so every byte is accounted for here, from the
//! first to the last. Zeros (padding) and a program in front (a self-extracting archive) contain no rows and are
//! allowed.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use inrush_rows::plural::{counted, counted_do};
use memchr::memmem;

const LOCAL_HEADER: &[u8; 4] = b"PK\x03\x04";
const LISTED_HEADER: &[u8; 4] = b"PK\x01\x02";
const SIGNATURE: &[u8; 4] = b"PK\x05\x05";
const END_64: &[u8; 4] = b"PK\x06\x06";
const END_64_LOCATOR: &[u8; 4] = b"PK\x06\x07";
const END: &[u8; 4] = b"PK\x05\x06";
const DESCRIPTOR: &[u8; 4] = b"PK\x07\x08";
/// An archive that was made to be split, but has only one part, begins with one of these marks.
const SPLIT_MARKS: [&[u8; 4]; 2] = [b"PK00", DESCRIPTOR];

const LOCAL_HEADER_BYTES: usize = 30;
const LISTED_HEADER_BYTES: usize = 46;
/// The longest data descriptor: signature, checksum and two sizes of 64 bits.
const DESCRIPTOR_BYTES_MAX: u64 = 24;
/// How many bytes are searched at a time.
const SCANNED_BYTES: usize = 64 << 10;

/// A member as the directory lists it.
pub(super) struct Listed {
    pub(super) name: String,
    /// The position of its own header.
    pub(super) header_start: u64,
    /// The position of its stored bytes.
    pub(super) data_start: u64,
    pub(super) stored_bytes: u64,
    pub(super) text_bytes: u64,
    pub(super) crc32: u32,
    /// The position of its entry in the directory.
    pub(super) listed_at: u64,
}

/// The error for data in an archive that a reader of the directory would miss, with the fix.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unlisted {
    pub(super) what: String,
    pub(super) fix: &'static str,
}

const UNZIP: &str = "unzip it and load the files, or make the archive again";
const REPAIR: &str =
    "repair it with zip -FF BROKEN.zip --out WHOLE.zip and load that, or make the archive again";
const SEPARATE: &str =
    "load the archives one by one, before they are joined, or make one archive of all files";

/// Accounts for each byte of an archive of `size` bytes. Sorts `members` by the position of their headers.
pub(super) fn account(
    file: &File,
    size: u64,
    directory_start: u64,
    members: &mut [Listed],
) -> io::Result<Result<(), Unlisted>> {
    let account = ByteAccount { file, size };
    members.sort_by_key(|member| member.header_start);
    Ok(match account.members(members, directory_start)? {
        Err(unlisted) => Err(unlisted),
        Ok(()) => account.directory(members, directory_start)?,
    })
}

struct ByteAccount<'a> {
    file: &'a File,
    size: u64,
}

/// `Err` is a fault of the archive, not an error of the system.
type Accounted<T> = io::Result<Result<T, Unlisted>>;

impl ByteAccount<'_> {
    /// Checks the bytes before the directory.
    fn members(&self, members: &[Listed], directory_start: u64) -> Accounted<()> {
        let mut place = 0;
        let mut before: Option<&Listed> = None;
        let first_start = members
            .first()
            .map_or(directory_start, |first| first.header_start);
        for member in members {
            if member.header_start < place {
                let other = before.map_or("", |before| before.name.as_str());
                return Ok(Err(Unlisted {
                    what: format!("its members `{other}` and `{}` share bytes", member.name),
                    fix: UNZIP,
                }));
            }
            if let Err(unlisted) = self.gap(place, member.header_start, first_start)? {
                return Ok(Err(unlisted));
            }
            let has_descriptor = match self.own_header(member)? {
                Ok(has_descriptor) => has_descriptor,
                Err(unlisted) => return Ok(Err(unlisted)),
            };
            place = member.data_start.saturating_add(member.stored_bytes);
            if has_descriptor {
                place += self.descriptor_bytes(member, place)?;
            }
            before = Some(member);
        }
        if place > directory_start {
            let name = before.map_or("", |before| before.name.as_str());
            return Ok(Err(Unlisted {
                what: format!("its member `{name}` overlaps the directory, or is after it"),
                fix: REPAIR,
            }));
        }
        self.gap(place, directory_start, first_start)
    }

    /// Checks the bytes from the directory to the end of the file.
    fn directory(&self, members: &[Listed], directory_start: u64) -> Accounted<()> {
        let mut place = match members.iter().map(|member| member.listed_at).max() {
            None => directory_start,
            Some(last) => {
                let mut entry = [0; LISTED_HEADER_BYTES];
                self.file.read_exact_at(&mut entry, last)?;
                let lengths = [28, 30, 32].map(|at| u64::from(u16_at(&entry, at)));
                last + LISTED_HEADER_BYTES as u64 + lengths.iter().sum::<u64>()
            }
        };
        loop {
            let record = self.bytes_at::<22>(place)?;
            let length = match record.first_chunk::<4>() {
                Some(SIGNATURE) => 6 + u64::from(u16_at(&record, 4)),
                Some(END_64) => {
                    let length =
                        u64::from(u32_at(&record, 8)) << 32 | u64::from(u32_at(&record, 4));
                    length.saturating_add(12)
                }
                Some(END_64_LOCATOR) => 20,
                Some(END) => {
                    place += record.len() as u64 + u64::from(u16_at(&record, 20));
                    break;
                }
                Some(LISTED_HEADER) => {
                    return Ok(Err(Unlisted {
                        what: format!(
                            "its directory lists more members than the {} that its end record counts",
                            members.len()
                        ),
                        fix: REPAIR,
                    }));
                }
                _ => {
                    return Ok(Err(Unlisted {
                        what: format!(
                            "its directory ends at byte {place}, but no end record follows"
                        ),
                        fix: REPAIR,
                    }));
                }
            };
            place = place.saturating_add(length);
        }
        if place >= self.size {
            return Ok(Ok(()));
        }
        Ok(match self.content(place, self.size)? {
            Content::Zeros => Ok(()),
            Content::Member(name, at) => Err(Unlisted {
                what: format!(
                    "another member, `{name}`, begins after the end of the archive, at byte {at}: archives were joined \
                     here, or an archive was written over a longer one"
                ),
                fix: SEPARATE,
            }),
            Content::Other(_) => Err(Unlisted {
                what: format!(
                    "{} its end, at byte {place}, outside of any archive",
                    counted_do(self.size - place, "byte", "follow")
                ),
                fix: UNZIP,
            }),
        })
    }

    /// Checks the bytes between members; those before the first member may be a program.
    fn gap(&self, start: u64, end: u64, first_start: u64) -> Accounted<()> {
        if start == end {
            return Ok(Ok(()));
        }
        let is_front = start == 0 && end == first_start;
        Ok(match self.content(start, end)? {
            Content::Zeros => Ok(()),
            Content::Other(first) if is_front && may_stand_in_front(&first, end) => Ok(()),
            Content::Member(name, at) if is_front => Err(Unlisted {
                what: format!(
                    "its directory lists only the members from byte {end} on, but `{name}` begins before it, at byte \
                     {at}: archives were joined here (cat a.zip b.zip)"
                ),
                fix: SEPARATE,
            }),
            Content::Member(name, at) => Err(Unlisted {
                what: format!("its directory does not list the member `{name}` at byte {at}"),
                fix: REPAIR,
            }),
            Content::Other(_) => Err(Unlisted {
                what: format!(
                    "its {} from byte {start} on belong to no member that its directory lists",
                    counted(end - start, "byte")
                ),
                fix: UNZIP,
            }),
        })
    }

    /// Compares a member's own header with the directory. Returns whether a data descriptor follows its bytes.
    fn own_header(&self, member: &Listed) -> Accounted<bool> {
        let mut header = [0; LOCAL_HEADER_BYTES];
        self.file.read_exact_at(&mut header, member.header_start)?;
        let has_descriptor = u16_at(&header, 6) & 8 != 0;
        let listed_32 = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        let told = [
            ("checksum", u32_at(&header, 14), member.crc32),
            (
                "stored bytes",
                u32_at(&header, 18),
                listed_32(member.stored_bytes),
            ),
            ("bytes", u32_at(&header, 22), listed_32(member.text_bytes)),
        ];
        // A zero means that the writer did not know the value yet. All bits set mean that the value needs 64 bits and
        // is elsewhere.
        let other = told.iter().find(|(_, own, listed)| {
            !has_descriptor && own != listed && *own != 0 && *own != u32::MAX
        });
        Ok(match other {
            None => Ok(has_descriptor),
            Some((what, own, listed)) => Err(Unlisted {
                what: format!(
                    "its member `{}` has other {what} in its own header ({own}) than in the directory ({listed})",
                    member.name
                ),
                fix: "make the archive again: one of the two is wrong (unzip -t may say which)",
            }),
        })
    }

    /// The length of the data descriptor at `place`, which follows a member's bytes.
    fn descriptor_bytes(&self, member: &Listed, place: u64) -> io::Result<u64> {
        let found = self.bytes_at::<{ DESCRIPTOR_BYTES_MAX as usize }>(place)?;
        for signature in [DESCRIPTOR.as_slice(), b""] {
            for wide in [false, true] {
                let mut expected = signature.to_vec();
                expected.extend(member.crc32.to_le_bytes());
                for bytes in [member.stored_bytes, member.text_bytes] {
                    match wide {
                        true => expected.extend(bytes.to_le_bytes()),
                        false => expected.extend((bytes as u32).to_le_bytes()),
                    }
                }
                if found.starts_with(&expected) {
                    return Ok(expected.len() as u64);
                }
            }
        }
        Ok(0)
    }

    /// `N` bytes from a position on; fewer at the end of the file.
    fn bytes_at<const N: usize>(&self, place: u64) -> io::Result<Vec<u8>> {
        let left = usize::try_from(self.size.saturating_sub(place)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; N.min(left)];
        self.file.read_exact_at(&mut bytes, place)?;
        Ok(bytes)
    }

    /// What a non-empty range of the file contains.
    fn content(&self, start: u64, end: u64) -> io::Result<Content> {
        let mut is_zeros = true;
        let mut first = Vec::new();
        let mut bytes = vec![0; SCANNED_BYTES];
        let mut place = start;
        while place < end {
            let count = usize::try_from(end - place)
                .unwrap_or(usize::MAX)
                .min(SCANNED_BYTES);
            let bytes = &mut bytes[..count];
            self.file.read_exact_at(bytes, place)?;
            if first.is_empty() {
                first = bytes[..count.min(4)].to_vec();
            }
            is_zeros &= bytes.iter().all(|byte| *byte == 0);
            for at in memmem::find_iter(bytes, LOCAL_HEADER) {
                if !may_be_header(&bytes[at..]) {
                    continue;
                }
                let at = place + at as u64;
                if let Some(name) = self.member_name(at, end)? {
                    return Ok(Content::Member(name, at));
                }
            }
            // A signature may begin in one read and end in the next.
            let overlap = if place + count as u64 == end { 0 } else { 3 };
            place += (count - overlap) as u64;
        }
        Ok(match is_zeros {
            true => Content::Zeros,
            false => Content::Other(first),
        })
    }

    /// The name of the member whose own header is at a position; `None` if there is no header. In a program the four
    /// bytes of the signature may occur by chance.
    fn member_name(&self, at: u64, end: u64) -> io::Result<Option<String>> {
        if end - at < LOCAL_HEADER_BYTES as u64 {
            return Ok(None);
        }
        let header = self.bytes_at::<LOCAL_HEADER_BYTES>(at)?;
        let name_bytes = u16_at(&header, 26);
        let fits = u64::from(name_bytes) <= end - at - LOCAL_HEADER_BYTES as u64;
        if !may_be_header(&header) || name_bytes == 0 || !fits {
            return Ok(None);
        }
        let mut name = vec![0; usize::from(name_bytes)];
        self.file
            .read_exact_at(&mut name, at + LOCAL_HEADER_BYTES as u64)?;
        let is_name = !name.iter().any(u8::is_ascii_control);
        Ok(is_name.then(|| String::from_utf8_lossy(&name).into_owned()))
    }
}

/// True if the bytes after a header's signature have an existing version and method; bytes that are missing are not
/// checked.
fn may_be_header(bytes: &[u8]) -> bool {
    u16_at(bytes, 4) & 0xff <= 63 && matches!(u16_at(bytes, 8), 0..=20 | 92..=99)
}

/// The content of a range that belongs to no member.
enum Content {
    Zeros,
    /// A member: its name, and the position of its header.
    Member(String, u64),
    /// Other data: its first bytes, at most four.
    Other(Vec<u8>),
}

/// True if bytes before the first member may be skipped: a program that unpacks the rest, or the mark of an archive
/// that was made to be split.
fn may_stand_in_front(first: &[u8], byte_count: u64) -> bool {
    let is_mark = SPLIT_MARKS.iter().any(|mark| first == mark.as_slice());
    let is_program = [b"MZ".as_slice(), b"#!", b"\x7fELF"]
        .iter()
        .any(|magic| first.starts_with(magic));
    is_program || (is_mark && byte_count == 4)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    let two = bytes.get(at..at + 2).and_then(|two| two.try_into().ok());
    two.map_or(0, u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    four.map_or(0, u32::from_le_bytes)
}
