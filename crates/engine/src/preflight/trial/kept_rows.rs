//! Converted rows that are written again and again: as batches, or encoded as the destination gets them.

use arrow_array::RecordBatch;
use inrush_destination::TrialStream;
use inrush_plan::Reading;
use inrush_rows::pace::value_bytes;

use crate::error::Error;
use crate::preflight::client::Client;
use crate::preflight::decode::EncodedBlock;
use crate::preflight::flow_found::FlowFound;
use crate::preflight::sample_batches;

/// The bytes of text in the kept batches.
const KEPT_TEXT_BYTES: u64 = 32 << 20;

/// Converted rows.
pub enum KeptRows<'a> {
    /// Rows that were encoded when the sample was decoded.
    Encoded {
        /// The blocks.
        blocks: &'a [EncodedBlock],
        /// Bytes of a block for each byte of the text from which it was made.
        sent_of_text: f64,
    },
    /// Rows that the destination takes as batches.
    Batches {
        /// The batches.
        batches: Vec<RecordBatch>,
        /// The bytes of text from which they were converted.
        text_bytes: u64,
    },
}

impl<'a> KeptRows<'a> {
    /// The rows of a flow's sample that are encoded already.
    pub fn encoded(found: &'a FlowFound) -> KeptRows<'a> {
        let decoded = found.decoded.as_ref();
        KeptRows::Encoded {
            blocks: decoded.map_or(&[], |decoded| &decoded.encoded.blocks),
            sent_of_text: 1.0 / found.text_of_sent().max(1e-9),
        }
    }

    /// Converts rows of a flow's sample.
    pub fn of_sample(
        client: &Client<'_>,
        reading: &Reading,
        found: &FlowFound,
    ) -> Result<KeptRows<'a>, Error> {
        let making = client.making(reading, found);
        let mut maker = sample_batches::row_maker(reading)?;
        let mut stream = sample_batches::stream(&making)?;
        let mut batches = Vec::new();
        let mut text_bytes = 0;
        for portion in found.spread() {
            if text_bytes >= KEPT_TEXT_BYTES {
                break;
            }
            let mut sampled = sample_batches::portion(&making, &mut *stream, &mut maker, &portion)?;
            while let Some(batch) = sampled.next_batch()? {
                batches.push(batch);
                if text_bytes + sampled.text_bytes() >= KEPT_TEXT_BYTES {
                    break;
                }
            }
            text_bytes += sampled.end().meter.text_bytes;
        }
        Ok(KeptRows::Batches {
            batches,
            text_bytes,
        })
    }

    /// True if there are rows.
    pub fn has_rows(&self) -> bool {
        match self {
            KeptRows::Encoded { blocks, .. } => !blocks.is_empty(),
            KeptRows::Batches { batches, .. } => batches.iter().any(|batch| batch.num_rows() > 0),
        }
    }

    /// Bytes that a rate limit counts for each byte of text.
    pub fn paced_of_text(&self) -> f64 {
        match self {
            KeptRows::Encoded { sent_of_text, .. } => *sent_of_text,
            KeptRows::Batches {
                batches,
                text_bytes,
            } => {
                let bytes: u64 = batches.iter().map(value_bytes).sum();
                bytes as f64 / (*text_bytes as f64).max(1.0)
            }
        }
    }

    /// Writes the block or batch with this number; after the last one the numbers begin again with the first. Returns
    /// the number of rows that the destination took, and their bytes. For batches these are bytes of text, because the
    /// bytes that are sent to such a destination are unknown.
    pub fn write(&self, at: usize, stream: &mut dyn TrialStream) -> Result<(u64, f64), Error> {
        match self {
            KeptRows::Encoded { blocks, .. } => {
                let block = &blocks[at % blocks.len()];
                stream.write_encoded(&block.bytes, block.rows)?;
                Ok((block.rows, block.bytes.len() as f64))
            }
            KeptRows::Batches {
                batches,
                text_bytes,
            } => {
                let batch = &batches[at % batches.len()];
                let rows_refused = stream.write(batch)?.not_taken();
                let per_batch = *text_bytes as f64 / batches.len() as f64;
                Ok(((batch.num_rows() - rows_refused) as u64, per_batch))
            }
        }
    }
}
