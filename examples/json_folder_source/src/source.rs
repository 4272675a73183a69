//! The folder.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use inrush_rows::cancel::Stop;
use inrush_source::{
    Input, ReadSettings, Source, SourceColumn, SourceError, SourceSplit, SourceStream,
    SplitContent, SplitReader,
};

use crate::Settings;
use crate::input::JsonFile;
use crate::reader::{self, FileReader};
use crate::rows;

/// A folder of JSON files.
#[derive(Debug)]
pub struct JsonFiles {
    settings: Settings,
    inputs: Vec<Arc<JsonFile>>,
    stop: Stop,
}

impl JsonFiles {
    /// Opens the folder: lists its files, and reads none. Reads end when the run is asked to stop.
    pub fn open(settings: Settings, stop: &Stop) -> Result<JsonFiles, SourceError> {
        let folder = &settings.folder;
        let fault = |what: String, fix: &str| SourceError::Input {
            input: folder.clone(),
            what,
            fix: fix.to_owned(),
        };
        for (index, (name, data_type)) in settings.columns.iter().enumerate() {
            if settings.columns[..index]
                .iter()
                .any(|(other, _)| other == name)
            {
                return Err(fault(
                    format!("the column {name:?} is named twice"),
                    "name it once",
                ));
            }
            if !rows::is_read(data_type) {
                let what =
                    format!("the column {name:?} is {data_type}, which is not read from JSON");
                return Err(fault(what, "use Boolean, Int64, Float64 or Utf8"));
            }
        }
        let listed = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let listed = listed.map_err(|cause| SourceError::Unreadable {
            path: folder.clone(),
            cause,
        })?;
        let is_json = |path: &PathBuf| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        };
        let mut paths: Vec<PathBuf> = listed
            .iter()
            .map(fs::DirEntry::path)
            .filter(is_json)
            .collect();
        paths.sort();
        if paths.is_empty() {
            return Err(fault(
                "no file in it ends in .json".to_owned(),
                "name the folder that has the files",
            ));
        }
        let inputs = paths
            .iter()
            .enumerate()
            .map(|(index, path)| Ok(Arc::new(JsonFile::new(index, path)?)));
        Ok(JsonFiles {
            inputs: inputs.collect::<Result<_, SourceError>>()?,
            settings,
            stop: stop.clone(),
        })
    }
}

impl Source for JsonFiles {
    fn describe(&self) -> String {
        format!("JSON files in {}", self.settings.folder.display())
    }

    fn columns(&self) -> Result<Vec<SourceColumn>, SourceError> {
        let columns = self
            .settings
            .columns
            .iter()
            .map(|(name, data_type)| SourceColumn {
                name: name.clone(),
                data_type: Some(data_type.clone()),
                is_uuid: false,
                native: None,
                declared: None,
            });
        Ok(columns.collect())
    }

    fn input_count(&self) -> usize {
        self.inputs.len()
    }

    fn input(&self, index: usize) -> Arc<dyn Input> {
        self.inputs[index].clone()
    }

    fn whole(&self, input: usize) -> SourceSplit {
        let size_bytes = self.inputs[input].size_bytes();
        SourceSplit {
            input,
            range: 0..size_bytes,
            first_record: None,
            is_shared: false,
            size_bytes,
        }
    }

    /// The row number of a line in the middle is unknown without the lines before it.
    fn splits(&self, input: usize, _wanted_bytes: u64) -> Result<Vec<SourceSplit>, SourceError> {
        Ok(vec![self.whole(input)])
    }

    fn open_stream(
        &self,
        settings: ReadSettings,
    ) -> Result<Box<dyn SourceStream + '_>, SourceError> {
        Ok(Box::new(Stream {
            source: self,
            chunk_bytes: settings.chunk_bytes,
        }))
    }

    fn has_same_content(&self, input: usize, read: &[SplitContent]) -> Result<bool, SourceError> {
        // A split is a whole file.
        let [
            SplitContent {
                hash: Some(hash), ..
            },
        ] = read
        else {
            return Ok(false);
        };
        Ok(*hash == reader::hash_now(self.inputs[input].name(), &self.stop)?)
    }
}

/// Reads files for one thread. There is nothing to keep from one file to the next.
struct Stream<'a> {
    source: &'a JsonFiles,
    chunk_bytes: usize,
}

impl SourceStream for Stream<'_> {
    fn open(&mut self, split: &SourceSplit) -> Result<Box<dyn SplitReader + '_>, SourceError> {
        let JsonFiles {
            settings,
            inputs,
            stop,
        } = self.source;
        let input = &inputs[split.input];
        Ok(Box::new(FileReader::open(
            input,
            &settings.columns,
            stop,
            self.chunk_bytes,
        )?))
    }
}
