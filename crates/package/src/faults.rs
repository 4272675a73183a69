//! Collects the faults that the checks of a package find, with their places.

use super::Package;
use super::error::{PackageError, PackageFault, PackageFaultKind};
use super::schema_check::setting;

/// The faults of a package found so far.
pub(super) struct Faults<'a> {
    package: &'a Package,
    faults: Vec<PackageFault>,
}

impl<'a> Faults<'a> {
    /// An empty list of faults of a package.
    pub(super) fn of(package: &'a Package) -> Faults<'a> {
        Faults {
            package,
            faults: Vec::new(),
        }
    }

    /// All of them as one error, if there are any.
    pub(super) fn into_result(self) -> Result<(), PackageError> {
        PackageError::of(self.faults)
    }

    /// Adds a fault of the setting at a path.
    pub(super) fn add(&mut self, path: &str, kind: PackageFaultKind) {
        let place = self.package.origin.place(path);
        self.faults.push(PackageFault { place, kind });
    }

    /// Adds the fault that a setting cannot have its value.
    pub(super) fn value(&mut self, path: &str, value: &str, cause: &str, mend: &str) {
        let kind = PackageFaultKind::value(setting(path), value, cause, mend);
        self.add(path, kind);
    }

    /// The line of a setting.
    pub(super) fn line(&self, path: &str) -> Option<usize> {
        self.package.origin.place(path).line.map(|line| line.number)
    }
}
