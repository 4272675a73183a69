//! A source whose inputs do not exist, for tests of plans.

use std::path::Path;
use std::sync::Arc;

use inrush_source::{
    Input, InputState, ReadSettings, Source, SourceColumn, SourceError, SourceSplit, SourceStream,
    SplitContent,
};

/// An input that has only a size.
#[derive(Debug)]
pub struct TestInput {
    name: Arc<Path>,
    size_bytes: u64,
    is_snapshot: bool,
}

impl TestInput {
    /// An input with this name, by which it is found.
    pub fn new(name: &str, size_bytes: u64) -> TestInput {
        TestInput {
            name: Path::new(name).into(),
            size_bytes,
            is_snapshot: false,
        }
    }

    /// A table at one moment.
    pub fn table(name: &str, size_bytes: u64) -> TestInput {
        TestInput {
            is_snapshot: true,
            ..TestInput::new(name, size_bytes)
        }
    }
}

impl Input for TestInput {
    fn index(&self) -> usize {
        0
    }

    fn name(&self) -> &Arc<Path> {
        &self.name
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn modified_ns(&self) -> i64 {
        0
    }

    fn mark(&self) -> String {
        String::new()
    }

    fn state_now(&self) -> Option<InputState> {
        None
    }

    fn identity(&self) -> Vec<String> {
        vec![self.name.display().to_string()]
    }

    fn is_snapshot(&self) -> bool {
        self.is_snapshot
    }

    fn reads_in_ranges(&self) -> Result<bool, SourceError> {
        Ok(true)
    }

    fn stored_at(&self) -> Option<(&Path, u64)> {
        (!self.is_snapshot).then_some((&*self.name, 0))
    }
}

/// A source of one input, whose rows are never read.
#[derive(Debug)]
pub struct TestSource {
    /// The input.
    pub input: Arc<TestInput>,
    /// [`Source::needs_locate`].
    pub needs_locate: bool,
    /// [`Source::has_same_content`].
    pub has_same_content: fn(&[SplitContent]) -> Result<bool, SourceError>,
}

impl TestSource {
    /// A source whose rows are never the same.
    pub fn new(input: TestInput) -> TestSource {
        TestSource {
            input: Arc::new(input),
            needs_locate: false,
            has_same_content: |_| Ok(false),
        }
    }
}

impl Source for TestSource {
    fn describe(&self) -> String {
        "a test".to_owned()
    }

    fn columns(&self) -> Result<Vec<SourceColumn>, SourceError> {
        Ok(Vec::new())
    }

    fn input_count(&self) -> usize {
        1
    }

    fn input(&self, _index: usize) -> Arc<dyn Input> {
        self.input.clone()
    }

    fn whole(&self, input: usize) -> SourceSplit {
        SourceSplit {
            input,
            range: 0..self.input.size_bytes,
            first_record: None,
            is_shared: false,
            size_bytes: self.input.size_bytes,
        }
    }

    fn splits(&self, input: usize, _: u64) -> Result<Vec<SourceSplit>, SourceError> {
        Ok(vec![self.whole(input)])
    }

    fn needs_locate(&self, _input: usize) -> bool {
        self.needs_locate
    }

    fn open_stream(&self, _: ReadSettings) -> Result<Box<dyn SourceStream + '_>, SourceError> {
        unreachable!("no test of a plan reads rows")
    }

    fn has_same_content(&self, _: usize, read: &[SplitContent]) -> Result<bool, SourceError> {
        (self.has_same_content)(read)
    }
}
