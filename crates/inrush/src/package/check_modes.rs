//! What goes together with a mode, and what does not.

use super::check::Faults;
use super::error::PackageFaultKind;
use super::name::{NameFault, valid};
use super::replace::{Keep, Replace};
use super::{Flow, Mode};

/// Checks the settings that belong to a mode.
pub(super) fn check_mode(flow: &Flow, at: &dyn Fn(&str) -> String, faults: &mut Faults<'_>) {
    if flow.mode != Mode::Replace && flow.replace != Replace::default() {
        faults.add(
            &at("replace"),
            PackageFaultKind::Conflict {
                conflict: "`replace` says what is taken out of the target, and this flow's mode \
                           takes nothing out"
                    .to_owned(),
                mend: "add `mode = \"replace\"`, or take `replace` out".to_owned(),
            },
        );
    }
    if let Keep::Name(name) = &flow.replace.keep
        && let Err(NameFault { cause, mend }) = valid(name)
    {
        faults.value(&at("replace.keep"), name, &cause, &mend);
    }
}
