//! Tests that after the loader is killed, at any moment, no process and no folder is left.
//!
//! The loader is this test program itself, started again with `HOLD` set.

#![expect(
    clippy::disallowed_macros,
    reason = "tests and examples print their own results"
)]

mod common;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::*;
use inrush_embedded::{Binaries, EmbeddedServer, find_binaries};

const HOLD: &str = "EMBEDDED_TEST_HOLD";

/// The newest version: the end of a server hardly depends on its version.
fn newest() -> Vec<Binaries> {
    installations().into_iter().take(1).collect()
}

/// The test program in the role of the loader: it starts a server, reports it, and waits.
#[test]
fn holder() {
    let Some(asked) = std::env::var_os(HOLD) else {
        return;
    };
    let asked = asked.into_string().unwrap();
    let [what, binaries, parent] = &asked.split('|').collect::<Vec<_>>()[..] else {
        panic!("{asked}")
    };
    let binaries = find_binaries(Some(Path::new(binaries)), &[]).unwrap();
    let parent = Path::new(parent);
    let options = match *what {
        "kept" => kept(&binaries, &parent.join("data"), parent),
        _ => temporary(&binaries, parent),
    };
    let server = EmbeddedServer::start(options).unwrap();
    if *what == "stop" {
        server.stop().unwrap();
        assert_eq!(children(), [""; 0], "children are left, or zombies");
        return;
    }
    println!("\nserving {}", server.url());
    // The parent kills this process.
    std::thread::sleep(Duration::from_secs(600));
}

/// The children of this process, zombies included.
fn children() -> Vec<String> {
    let parent = std::process::id().to_string();
    let stats = std::fs::read_dir("/proc").unwrap().flatten();
    stats
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok())
        .filter(|stat| {
            let after_name = stat.rsplit_once(')').unwrap().1;
            after_name.split_whitespace().nth(1) == Some(&parent)
        })
        .collect()
}

fn hold(what: &str, binaries: &Binaries, parent: &Path) -> Child {
    let asked = format!("{what}|{}|{}", binaries.folder.display(), parent.display());
    Command::new(std::env::current_exe().unwrap())
        .args(["holder", "--exact", "--nocapture"])
        .env(HOLD, asked)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until the loader's server is ready; returns its URL.
fn serving(loader: &mut Child) -> String {
    let lines = BufReader::new(loader.stdout.take().unwrap()).lines();
    for line in lines {
        if let Some(url) = line.unwrap().strip_prefix("serving ") {
            return url.to_owned();
        }
    }
    panic!("the loader ended: {:?}", loader.wait());
}

/// Asserts that nothing of the server is left: no process, and only these names in the folder.
fn assert_nothing_left(parent: &Path, names: &[&str]) {
    eventually("no process is left", || processes_at(parent).is_empty());
    eventually("no private folder is left", || names_in(parent) == names);
}

#[test]
fn killed_while_serving() {
    for binaries in &installations() {
        let parent = open_folder();
        let mut loader = hold("temporary", binaries, parent.path());
        let url = serving(&mut loader);
        // A client with work in hand does not keep the server alive.
        let mut client = Command::new(binaries.folder.join("psql"))
            .args([
                "-X",
                "-d",
                &url,
                "-c",
                "SELECT count(*) FROM generate_series(1, 1000000000000)",
            ])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        eventually("the client's statement runs", || {
            let active = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%generate_series%' \
                          AND state = 'active'";
            psql(binaries, &url, active).stdout == b"2\n"
        });
        loader.kill().unwrap();
        loader.wait().unwrap();
        assert!(!client.wait().unwrap().success());
        assert_nothing_left(parent.path(), &[]);
    }
}

/// Even without its janitor a server ends, by the kernel's signal.
#[test]
fn killed_together_with_the_janitor() {
    for binaries in &newest() {
        let parent = open_folder();
        let mut loader = hold("temporary", binaries, parent.path());
        serving(&mut loader);
        let janitor = processes_at(parent.path())
            .into_iter()
            .filter(|pid| {
                let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                String::from_utf8_lossy(&line).contains("inrush-janitor")
            })
            .map(|pid| pid.to_string())
            .collect::<Vec<_>>();
        assert_eq!(janitor.len(), 1);
        assert!(
            Command::new("kill")
                .args(["-KILL", &janitor[0]])
                .status()
                .unwrap()
                .success()
        );
        loader.kill().unwrap();
        loader.wait().unwrap();
        eventually("no process is left", || {
            processes_at(parent.path()).is_empty()
        });
    }
}

/// The janitor stops a server that does not get the kernel's signal.
#[test]
fn killed_while_the_server_stands_still() {
    for binaries in &newest() {
        let parent = open_folder();
        let mut loader = hold("temporary", binaries, parent.path());
        serving(&mut loader);
        let data = PathBuf::from(parent.path())
            .join(&names_in(parent.path())[0])
            .join("data");
        let text = std::fs::read_to_string(data.join("postmaster.pid")).unwrap();
        let pid = text.lines().next().unwrap();
        let send = |signal: &str| {
            assert!(
                Command::new("kill")
                    .args([signal, pid])
                    .status()
                    .unwrap()
                    .success()
            );
        };
        send("-STOP");
        loader.kill().unwrap();
        loader.wait().unwrap();
        // The server still runs, and its folder exists: a folder is never removed under a server.
        assert!(data.exists());
        send("-CONT");
        assert_nothing_left(parent.path(), &[]);
    }
}

/// The start has many steps: it is killed after each of these times.
#[test]
fn killed_at_any_moment_of_the_start() {
    for binaries in &newest() {
        let parent = open_folder();
        let begin = Instant::now();
        let mut loader = hold("temporary", binaries, parent.path());
        serving(&mut loader);
        let whole = begin.elapsed();
        loader.kill().unwrap();
        loader.wait().unwrap();
        assert_nothing_left(parent.path(), &[]);
        for step in 0..12 {
            let mut loader = hold("temporary", binaries, parent.path());
            std::thread::sleep(whole * step / 12);
            loader.kill().unwrap();
            loader.wait().unwrap();
            assert_nothing_left(parent.path(), &[]);
        }
    }
}

/// The same command, run at once after a kill, finds the committed rows.
#[test]
fn a_kept_folder_is_there_again_after_a_kill() {
    for binaries in &installations() {
        let parent = open_folder();
        for round in 0..4 {
            let mut loader = hold("kept", binaries, parent.path());
            let url = serving(&mut loader);
            let made = psql(binaries, &url, "CREATE TABLE IF NOT EXISTS t (n int)");
            assert!(
                made.status.success(),
                "{}",
                String::from_utf8_lossy(&made.stderr)
            );
            let count = psql(
                binaries,
                &url,
                "INSERT INTO t VALUES (1); SELECT count(*) FROM t",
            );
            let text = String::from_utf8_lossy(&count.stdout);
            assert_eq!(text.lines().last(), Some((round + 1).to_string().as_str()));
            loader.kill().unwrap();
            loader.wait().unwrap();
        }
        assert_nothing_left(parent.path(), &["data"]);
    }
}

/// If initializing a new folder was interrupted, it is empty again, or complete.
#[test]
fn killed_while_a_kept_folder_is_made() {
    for binaries in &newest() {
        for step in [1, 3, 5] {
            let parent = open_folder();
            let mut loader = hold("kept", binaries, parent.path());
            std::thread::sleep(Duration::from_millis(150) * step);
            loader.kill().unwrap();
            loader.wait().unwrap();
            eventually("no process is left", || {
                processes_at(parent.path()).is_empty()
            });
            let folder = parent.path().join("data");
            let again = kept(binaries, &folder, parent.path());
            EmbeddedServer::start(again).unwrap().stop().unwrap();
            assert_nothing_left(parent.path(), &["data"]);
        }
    }
}

#[test]
fn stopped_it_leaves_no_child_and_no_zombie() {
    for binaries in &installations() {
        let parent = open_folder();
        let output = hold("stop", binaries, parent.path())
            .wait_with_output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_nothing_left(parent.path(), &[]);
    }
}
