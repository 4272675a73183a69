//! DuckDB for the steps of flows: opened when the first flow with steps is planned, and shared by all plans and streams of a run.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use inrush_transform::evaluator::{Evaluator, EvaluatorError};

/// The evaluator of a run, if it needs one.
#[derive(Debug, Default)]
pub struct FlowSteps {
    site_packages: Option<PathBuf>,
    opened: OnceLock<Result<Arc<Evaluator>, EvaluatorError>>,
}

impl FlowSteps {
    /// An evaluator with the library in `site_packages`, the folder of installed Python packages.
    pub fn new(site_packages: Option<&Path>) -> FlowSteps {
        FlowSteps {
            site_packages: site_packages.map(Path::to_owned),
            opened: OnceLock::new(),
        }
    }

    /// The evaluator.
    pub fn evaluator(&self) -> Result<Arc<Evaluator>, EvaluatorError> {
        let open = || Evaluator::find(self.site_packages.as_deref()).map(Arc::new);
        self.opened.get_or_init(open).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_is_told_with_its_fix() {
        let folder = tempfile::tempdir().expect("a folder");
        let steps = FlowSteps::new(Some(folder.path()));
        let error = steps.evaluator().expect_err("no library is there");
        assert!(error.what.starts_with("steps need DuckDB"), "{error}");
        assert!(error.hint.contains("duckdb"), "{}", error.hint);
    }
}
