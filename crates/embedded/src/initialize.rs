//! Makes a new data folder with initdb.

use rustix::process::Signal;

use crate::c_library::has_locale;
use crate::diagnosis::{last_lines, likely_cause};
use crate::error::EmbeddedError;
use crate::options::DataFolder;
use crate::process::command_as;
use crate::single_user::Tools;

/// The database user with which a new data folder is made.
pub(crate) const SUPERUSER: &str = "postgres";

/// Runs initdb, which empties the folder again if it fails.
pub(crate) fn initialize(tools: &Tools<'_>, data: &DataFolder) -> Result<(), EmbeddedError> {
    let program = tools.binaries.folder.join("initdb");
    // On SIGTERM initdb removes the folder that it has made.
    let output = command_as(&program, tools.account, Signal::TERM, &tools.inherited)
        .arg("-D")
        .arg(tools.data)
        .args(arguments(tools.binaries.major, data, has_c_utf8()))
        .output()
        .map_err(|source| EmbeddedError::Spawn {
            program: program.display().to_string(),
            account: tools.account.name.clone(),
            source,
        })?;
    if output.status.success() {
        return Ok(());
    }
    let messages = [output.stdout, output.stderr].concat();
    let messages = String::from_utf8_lossy(&messages);
    Err(EmbeddedError::Program {
        program: "initdb",
        status: output.status.to_string(),
        folder: tools.data.to_owned(),
        cause: likely_cause(&messages),
        output: last_lines(&messages),
    })
}

fn arguments(major: u32, data: &DataFolder, c_utf8: bool) -> Vec<&'static str> {
    let mut arguments = vec![
        "--username",
        SUPERUSER,
        "--encoding=UTF8",
        "--no-instructions",
        // The access file of a run replaces this one. It applies if a person starts a server on a kept folder by hand,
        // and must not let other users in.
        "--auth-local=peer",
        "--auth-host=scram-sha-256",
    ];
    // Text is sorted by its bytes. This is fast, and the same on every machine and in every version. Unicode decides
    // which characters are letters.
    if major >= 17 {
        arguments.extend([
            "--locale=C",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
        ]);
    } else if c_utf8 {
        arguments.extend(["--locale=C", "--lc-ctype=C.UTF-8"]);
    } else {
        arguments.push("--locale=C");
    }
    match data {
        DataFolder::Temporary { .. } => {
            // Nobody uses a temporary folder after a crash of the machine, so initdb need not synchronize it. Loaded
            // rows are still synchronized.
            arguments.push("--no-sync");
            if major >= 18 {
                // Before version 18 this is the default.
                arguments.push("--no-data-checksums");
            }
        }
        DataFolder::Kept(_) => arguments.push("--data-checksums"),
    }
    arguments
}

/// True if the system's C library has the locale C.UTF-8: some do not have it.
fn has_c_utf8() -> bool {
    has_locale(c"C.UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_by_version_and_folder() {
        let temporary = DataFolder::Temporary {
            parent: "/tmp".into(),
        };
        let kept = DataFolder::Kept("/data".into());
        let new = arguments(18, &temporary, true);
        assert!(new.contains(&"--builtin-locale=C.UTF-8") && new.contains(&"--no-data-checksums"));
        let old = arguments(15, &temporary, true);
        assert!(old.contains(&"--lc-ctype=C.UTF-8") && !old.contains(&"--no-data-checksums"));
        assert!(!old.iter().any(|a| a.contains("builtin")));
        let kept = arguments(15, &kept, false);
        assert!(kept.contains(&"--data-checksums") && !kept.contains(&"--no-sync"));
        assert!(!kept.contains(&"--lc-ctype=C.UTF-8"));
    }
}
