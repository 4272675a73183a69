//! Measures how fast the package's files are read: from the page cache, and from the disk if the cache does not hold them.
//!
//! Nothing is removed from the cache unless the user asks for it, because other programs may need it. The sample is in
//! the cache afterwards, so the later steps measure the CPU and not the disk again.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use inrush_rows::cancel::Stop;
use inrush_source::SourceError;
use inrush_system::threads::on_threads;

use super::residency::{cached_bytes, let_go};
use super::sample::StoredRange;
use crate::error::Error;

/// A range is read from the cache if at least this share of it is cached.
const CACHED_SHARE: f64 = 0.95;
/// A range is read from the disk if at most this share of it is cached; ranges with a share between the two limits are
/// not measured.
const UNCACHED_SHARE: f64 = 0.05;
/// The most bytes that are removed from the cache for `--cold`.
const LET_GO_BYTES_MAX: u64 = 1 << 30;

/// The options of reading files.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions {
    /// Streams that read at once.
    pub streams: usize,
    /// Bytes that are read at a time.
    pub chunk_bytes: usize,
    /// The time for each of the two measurements of a kind: with one thread, and with all threads.
    pub measuring_time: Duration,
    /// Remove the sample from the cache first.
    pub cold: bool,
}

/// The results of reading.
#[derive(Clone, Debug, Default)]
pub struct ReadFound {
    /// Speeds from the page cache.
    pub cached: Speeds,
    /// Speeds from the disk.
    pub disk: Speeds,
    /// The share of the sample that was in the page cache before, 0 to 1; `None` if the system does not tell.
    pub cached_share: Option<f64>,
    /// True if a file is in the sample.
    pub has_files: bool,
    /// For each range, true if it is in the cache now.
    pub is_read: Vec<bool>,
    /// A note for the user.
    pub note: Option<String>,
}

/// The speeds of one thread, and of all threads at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Speeds {
    /// Bytes per second, by one thread.
    pub one: Option<f64>,
    /// Bytes per second, by all threads together.
    pub all: Option<f64>,
    /// Bytes that were read.
    pub bytes: u64,
    /// Seconds that it took.
    pub took_s: f64,
}

/// Reads the ranges of a sample in order, until the time is over.
pub fn measure(
    places: &[StoredRange],
    read_options: &ReadOptions,
    stop: &Stop,
) -> Result<ReadFound, Error> {
    let mut found = ReadFound {
        is_read: vec![false; places.len()],
        has_files: !places.is_empty(),
        ..ReadFound::default()
    };
    if read_options.cold {
        found.note = Some(drop_from_cache(places)?);
    }
    let mut cached = Vec::new();
    let mut uncached = Vec::new();
    let (mut known_bytes, mut bytes_there) = (0, 0);
    for (index, place) in places.iter().enumerate() {
        let there = cached_bytes(&open(place)?, &place.byte_range);
        let Some(there) = there else {
            // The system does not show whether the bytes are cached. The best guess is that they come from the disk.
            uncached.push(index);
            continue;
        };
        known_bytes += place.size_bytes();
        bytes_there += there;
        let share = there as f64 / place.size_bytes().max(1) as f64;
        if share >= CACHED_SHARE {
            cached.push(index);
        } else if share <= UNCACHED_SHARE {
            uncached.push(index);
        }
    }
    if known_bytes > 0 {
        found.cached_share = Some(bytes_there as f64 / known_bytes as f64);
    } else if !places.is_empty() {
        found.note = Some(
            "only the owner of a file can ask which part of it is in the page cache: the data may \
             have come from the disk or from the cache"
                .to_owned(),
        );
    }
    for index in &cached {
        found.is_read[*index] = true;
    }
    // Cached data may be read twice; from the disk each range is read once.
    found.cached = speeds(
        places,
        &[&cached, &cached],
        read_options,
        stop,
        &mut found.is_read,
    )?;
    let (alone, together) = uncached.split_at(share_of_one(uncached.len(), read_options.streams));
    found.disk = speeds(
        places,
        &[alone, together],
        read_options,
        stop,
        &mut found.is_read,
    )?;
    Ok(found)
}

/// The number of ranges that one thread reads alone. As many remain for each thread when all threads read at once.
fn share_of_one(places: usize, streams: usize) -> usize {
    match streams {
        0 | 1 => places,
        _ => places.div_ceil(streams + 1),
    }
}

fn speeds(
    places: &[StoredRange],
    [alone, together]: &[&[usize]; 2],
    read_options: &ReadOptions,
    stop: &Stop,
    is_read: &mut [bool],
) -> Result<Speeds, Error> {
    let mut found = Speeds::default();
    let mut one = |threads, numbers: &[usize]| -> Result<Option<f64>, Error> {
        if numbers.is_empty() {
            return Ok(None);
        }
        let begun = Instant::now();
        let read = read_all(places, numbers, threads, read_options, stop)?;
        let took_s = begun.elapsed().as_secs_f64();
        let bytes: u64 = read.iter().map(|index| places[*index].size_bytes()).sum();
        for index in read {
            is_read[index] = true;
        }
        found.bytes += bytes;
        found.took_s += took_s;
        Ok((bytes > 0).then(|| bytes as f64 / took_s.max(1e-9)))
    };
    let alone = one(1, alone)?;
    let all = match read_options.streams {
        0 | 1 => alone,
        streams => one(streams, together)?,
    };
    found.one = alone;
    found.all = all.or(alone);
    Ok(found)
}

/// Reads ranges until the time is over; returns those that were read.
fn read_all(
    places: &[StoredRange],
    numbers: &[usize],
    threads: usize,
    read_options: &ReadOptions,
    stop: &Stop,
) -> Result<Vec<usize>, Error> {
    let next = Mutex::new(numbers.iter().copied());
    let begun = Instant::now();
    let work = || -> Result<Vec<usize>, Error> {
        let mut buffer = vec![0_u8; read_options.chunk_bytes];
        let mut read = Vec::new();
        loop {
            if stop.asked().is_some() {
                return Err(Error::Interrupted);
            }
            if begun.elapsed() > read_options.measuring_time {
                return Ok(read);
            }
            let index = next.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(index) = index else {
                return Ok(read);
            };
            read_place(&places[index], &mut buffer, stop)?;
            read.push(index);
        }
    };
    on_threads(threads, &work)
}

fn read_place(place: &StoredRange, buffer: &mut [u8], stop: &Stop) -> Result<(), Error> {
    let file = open(place)?;
    let mut at = place.byte_range.start;
    while at < place.byte_range.end {
        let wanted = usize::try_from(place.byte_range.end - at).unwrap_or(usize::MAX);
        let wanted = wanted.min(buffer.len());
        let count = file
            .read_at(&mut buffer[..wanted], at)
            .map_err(|cause| unreadable(place, cause))?;
        if count == 0 || stop.asked().is_some() {
            break;
        }
        at += count as u64;
    }
    Ok(())
}

fn drop_from_cache(places: &[StoredRange]) -> Result<String, Error> {
    let mut bytes = 0;
    for place in places {
        if bytes >= LET_GO_BYTES_MAX {
            break;
        }
        let file = open(place)?;
        // Data that is not yet written to the disk would stay in the cache.
        let _ = file.sync_data();
        let_go(&file, &place.byte_range).map_err(|cause| unreadable(place, cause))?;
        bytes += place.size_bytes();
    }
    Ok(format!(
        "--cold: {:.0} MB of the files were removed from the page cache, as far as the system allows",
        bytes as f64 / 1e6
    ))
}

fn open(place: &StoredRange) -> Result<File, Error> {
    File::open(&place.path).map_err(|cause| unreadable(place, cause))
}

fn unreadable(place: &StoredRange, cause: std::io::Error) -> Error {
    Error::Source(SourceError::Unreadable {
        path: place.path.clone(),
        cause,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_just_written_is_read_from_the_cache() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.csv");
        std::fs::write(&path, vec![b'x'; 3 << 20]).expect("room");
        let places = [0..1 << 20, 2 << 20..3 << 20].map(|byte_range| StoredRange {
            path: path.clone(),
            byte_range,
        });
        let read_options = ReadOptions {
            streams: 2,
            chunk_bytes: 64 << 10,
            measuring_time: Duration::from_secs(60),
            cold: false,
        };
        let found = measure(&places, &read_options, &Stop::default()).expect("readable");
        assert_eq!(found.is_read, [true, true]);
        assert_eq!(found.cached_share, Some(1.0));
        // Once by one thread, once by both threads.
        assert_eq!((found.cached.bytes, found.disk.bytes), (4 << 20, 0));
        assert!(found.disk.one.is_none() && found.cached.all.is_some());
        let gone = [StoredRange {
            path: folder.path().join("no such file"),
            byte_range: 0..5,
        }];
        assert!(measure(&gone, &read_options, &Stop::default()).is_err());
    }
}
