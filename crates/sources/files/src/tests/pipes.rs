//! Tests of named pipes: a preview, then one load.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::thread;

use inrush_rows::cancel::{Stop, StopReason};
use rustix::fs::{CWD, Mode, mkfifoat};
use tempfile::{TempDir, tempdir};

use super::super::{Pipes, Preview, ResolveOptions, resolve_as};
use super::*;

fn pipe_in(folder: &TempDir, name: &str) -> PathBuf {
    let path = folder.path().join(name);
    mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).expect("a pipe");
    path
}

fn resolved(path: &Path, pipes: &Pipes, reader: &str) -> Result<Arc<SourceFile>, SourceError> {
    let options = ResolveOptions {
        pipes: pipes.clone(),
        reader,
        ..ResolveOptions::default()
    };
    let name = path.to_string_lossy().into_owned();
    let mut files = resolve_as(&[name], Path::new(""), &options)?;
    Ok(Arc::new(files.remove(0)))
}

/// Writes in steps, like a slow program.
fn writer(path: PathBuf, bytes: Vec<u8>, step_bytes: usize) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut pipe = OpenOptions::new().write(true).open(path).expect("opens");
        for step in bytes.chunks(step_bytes) {
            pipe.write_all(step).expect("somebody reads");
        }
    })
}

#[test]
fn a_pipe_is_looked_at_and_then_read_from_its_beginning() {
    let folder = tempdir().expect("a folder");
    let rows: Vec<_> = (0..20_000)
        .map(|row| format!("{row},name {row}\n"))
        .collect();
    let text = format!("id,name\n{}", rows.concat());
    let plain = write(folder.path(), "plain.csv", &text);
    let expected = read(&plain, &Dialect::csv(), 1 << 20).expect("readable");
    for step_bytes in [1, 1000, 1 << 20] {
        let path = pipe_in(&folder, &format!("pipe{step_bytes}"));
        let pipes = Pipes::default();
        let file = resolved(&path, &pipes, "flow").expect("there");
        assert!(file.is_pipe() && file.size_bytes == 0);
        let sent = if step_bytes == 1 {
            "id,name\n0,name 0\n"
        } else {
            &text
        };
        let writing = writer(path.clone(), sent.as_bytes().to_vec(), step_bytes);
        let header = Preview::read(&file, &Dialect::csv(), 0)
            .expect("readable")
            .header;
        assert_eq!(header, expected.header);
        // A second plan of the same run finds the same pipe.
        let again = resolved(&path, &pipes, "flow").expect("there");
        assert_eq!(again.identity(), file.identity());
        let records = Preview::read(&again, &Dialect::csv(), 1)
            .expect("readable")
            .records;
        assert_eq!(records.len(), 1);
        let found = read_split(Split::whole(Arc::clone(&again)), &Dialect::csv(), 1000);
        let (found, meter) = found.expect("readable");
        writing.join().expect("it is done");
        assert_eq!(meter.text_bytes, sent.len() as u64);
        assert_eq!(found.records.len(), sent.lines().count() - 1);
        if step_bytes > 1 {
            assert_eq!(found, expected);
        }
        let error = read_split(Split::whole(again), &Dialect::csv(), 1000).expect_err("read");
        assert!(
            error
                .to_string()
                .contains("a pipe can be read only once, and was read already")
        );
    }
}

#[test]
fn a_header_is_seen_before_the_rows_come() {
    let folder = tempdir().expect("a folder");
    let path = pipe_in(&folder, "pipe");
    let file = resolved(&path, &Pipes::default(), "flow").expect("there");
    let mut pipe = OpenOptions::new().write(true).open(&path).expect("opens");
    pipe.write_all(b"id,a long name\n1,b\n2")
        .expect("there is room");
    let preview = Preview::read(&file, &Dialect::csv(), 1).expect("readable");
    assert_eq!(preview.header.map(|names| names.len()), Some(2));
    assert_eq!(preview.records.len(), 1);
    pipe.write_all(b",c\n").expect("there is room");
    drop(pipe);
    let (found, _) = read_split(Split::whole(file), &Dialect::csv(), 1000).expect("readable");
    assert_eq!(rows(&found), ["1·b", "2·c"]);
}

/// Runs this test program again with a pipe as standard input.
#[test]
fn standard_input_is_a_pipe() {
    const CHILD: &str = "INRUSH_TEST_READS_STANDARD_INPUT";
    if std::env::var_os(CHILD).is_some() {
        let pipes = Pipes::default();
        let file = resolved(Path::new("-"), &pipes, "flow").expect("there");
        let preview = Preview::read(&file, &Dialect::csv(), 1).expect("readable");
        assert_eq!(preview.records[0].location.to_string(), "-:2 (byte 5)");
        let (found, meter) = read_split(Split::whole(file), &Dialect::csv(), 7).expect("readable");
        assert_eq!(found.records.len(), 50_000);
        assert_eq!(meter.text_bytes, 5 + 50_000 * 4);
        let taken = resolved(Path::new("/dev/stdin"), &pipes, "other").expect_err("taken");
        assert!(taken.to_string().contains("flow `flow` reads it already"));
        return;
    }
    let mut child = std::process::Command::new(std::env::current_exe().expect("it runs"))
        .args(["--exact", "tests::pipes::standard_input_is_a_pipe"])
        .env(CHILD, "1")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("it runs");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(b"id,a\n").expect("it reads");
    input
        .write_all("1,b\n".repeat(50_000).as_bytes())
        .expect("it reads");
    drop(input);
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn the_compression_of_a_pipe_is_told_by_its_first_bytes() {
    let folder = tempdir().expect("a folder");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(b"1|a|\n2|b|\n").expect("memory");
    let gzip = encoder.finish().expect("memory");
    let zstd = zstd::encode_all(b"1|a|\n2|b|\n".as_slice(), 1).expect("memory");
    for (name, bytes) in [
        ("gzip", gzip),
        ("zstd", zstd),
        ("plain", b"1|a|\n2|b|\n".to_vec()),
    ] {
        let path = pipe_in(&folder, name);
        let file = resolved(&path, &Pipes::default(), "flow").expect("there");
        let writing = writer(path, bytes, 1);
        let (found, _) = read_split(Split::whole(file), &Dialect::tbl(), 1000).expect("readable");
        assert_eq!(rows(&found), ["1·a", "2·b"], "{name}");
        writing.join().expect("it is done");
    }
}

#[test]
fn a_pipe_is_never_the_same_again_and_has_one_reader() {
    let folder = tempdir().expect("a folder");
    let path = pipe_in(&folder, "pipe");
    let pipes = Pipes::default();
    let first = resolved(&path, &pipes, "orders").expect("there");
    let error = resolved(&path, &pipes, "lines").expect_err("taken");
    assert_eq!(
        message(error, folder.path()),
        "FOLDER/pipe: flow `orders` reads it already, and a pipe can be read only once; write \
         its data to a file first, or name it in only one flow"
    );
    let other_run = resolved(&path, &Pipes::default(), "orders").expect("there");
    assert_ne!(first.identity(), other_run.identity());
    assert_ne!(first, other_run);
}

#[test]
fn a_stop_ends_waiting_for_a_pipe() {
    let folder = tempdir().expect("a folder");
    for (name, has_writer) in [("nobody", false), ("silent", true)] {
        let path = pipe_in(&folder, name);
        let stop = Stop::default();
        let file = resolved(&path, &Pipes::new(stop.clone()), "flow").expect("there");
        let held = has_writer.then(|| {
            let mut pipe = OpenOptions::new().write(true).open(&path).expect("opens");
            pipe.write_all(b"1|\n").expect("somebody will read");
            pipe
        });
        let waiting =
            thread::spawn(move || read_split(Split::whole(file), &Dialect::tbl(), 1000).map(drop));
        stop.ask(StopReason::Interrupted);
        let error = waiting.join().expect("it ends").expect_err("stopped");
        assert!(matches!(error, SourceError::Stopped { .. }), "{error}");
        drop(held);
    }
}

#[test]
fn an_archive_is_not_read_from_a_pipe() {
    let folder = tempdir().expect("a folder");
    let path = pipe_in(&folder, "pipe.zip");
    let error = resolved(&path, &Pipes::default(), "flow").expect_err("refused");
    assert!(
        error.to_string().contains("its end, but this is a pipe"),
        "{error}"
    );
}
