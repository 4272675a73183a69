//! Samples what the sessions of the streams do on the destination's server.

use std::sync::Arc;
use std::time::Duration;

use inrush_destination::{Error, FileBytes, Result, SessionSampler};
use inrush_verdict::{BackendSeries, BackendTally, SeenSession, ServerKind, ServerMeasurements};

use crate::gauge::Gauge;
use crate::pipeline::metering::{Backends, Looking};
use crate::preflight::findings::words;

/// The longest wait for the server's answer. After it the server is not asked again.
const PATIENCE: Duration = Duration::from_secs(2);

/// The sessions of a run's streams.
pub struct SessionSamples {
    /// Its calls block, so each runs on a blocking thread, which owns the sampler meanwhile. `None` after an error.
    sampler: Option<Box<dyn SessionSampler>>,
    kind: ServerKind,
    why_not: Option<String>,
    before: Option<FileBytes>,
    streams: Vec<SampledStream>,
}

/// The samples of one stream's sessions.
#[derive(Default)]
struct SampledStream {
    /// Its last session.
    session: i32,
    tally: BackendTally,
}

impl SessionSamples {
    /// Samples of this number of streams; `None` if the destination has no server that can be asked.
    pub fn new(sampler: Option<Box<dyn SessionSampler>>, streams: usize) -> Option<SessionSamples> {
        let sampler = sampler?;
        Some(SessionSamples {
            kind: sampler.kind(),
            sampler: Some(sampler),
            why_not: None,
            before: None,
            streams: (0..streams).map(|_| SampledStream::default()).collect(),
        })
    }

    /// Calls the sampler on a thread where it may block. If it fails or takes too long, it is not called again.
    async fn ask<T: Send + 'static>(
        &mut self,
        question: impl FnOnce(&mut dyn SessionSampler) -> Result<T> + Send + 'static,
    ) -> Option<T> {
        let mut sampler = self.sampler.take()?;
        let asking = tokio::task::spawn_blocking(move || {
            let answer = question(&mut *sampler);
            (sampler, answer)
        });
        match tokio::time::timeout(PATIENCE, asking).await {
            Ok(Ok((sampler, Ok(answer)))) => {
                self.sampler = Some(sampler);
                return Some(answer);
            }
            // The load is asked to stop as well.
            Ok(Ok((_, Err(Error::Interrupted)))) => {}
            Ok(Ok((_, Err(error)))) => self.why_not = Some(words(&error)),
            Ok(Err(error)) => self.why_not = Some(words(&error)),
            Err(_) => {
                let seconds = PATIENCE.as_secs();
                self.why_not = Some(format!("the server did not answer within {seconds} s"));
            }
        }
        None
    }

    async fn look_at_all(&mut self, gauges: &[Arc<Gauge>]) {
        for (stream, gauge) in self.streams.iter_mut().zip(gauges) {
            stream.session = gauge.process_id();
        }
        let sessions = self.streams.iter().map(|stream| stream.session);
        let sessions: Vec<i32> = sessions.filter(|session| *session != 0).collect();
        if sessions.is_empty() {
            return;
        }
        let seen = self.ask(move |sampler| sampler.look(&sessions)).await;
        for seen in seen.into_iter().flatten() {
            self.add(seen, gauges);
        }
        if self.before.is_none() {
            self.before = self.ask(|sampler| sampler.file_bytes()).await;
        }
    }

    fn add(&mut self, seen: SeenSession, gauges: &[Arc<Gauge>]) {
        let mut streams = self.streams.iter_mut().zip(gauges);
        let Some((stream, gauge)) = streams.find(|(it, _)| it.session == seen.process_id) else {
            return;
        };
        stream.tally.add(gauge.doing(), seen.state, seen.event);
        for blocker in seen.blockers {
            stream.tally.add_blocker(blocker);
        }
    }

    async fn total(&mut self) -> ServerMeasurements {
        let after = self.ask(|sampler| sampler.file_bytes()).await;
        let growth = |bytes: fn(&FileBytes) -> u64| {
            let (before, after) = (self.before.as_ref()?, after.as_ref()?);
            Some(bytes(after).saturating_sub(bytes(before)))
        };
        ServerMeasurements {
            kind: self.kind,
            log_growth_bytes: growth(|bytes| bytes.log),
            data_growth_bytes: growth(|bytes| bytes.data),
            not_sampled: self.why_not.clone(),
            ..ServerMeasurements::default()
        }
    }
}

impl Backends for SessionSamples {
    fn look<'l>(&'l mut self, gauges: &'l [Arc<Gauge>]) -> Looking<'l, ()> {
        Box::pin(self.look_at_all(gauges))
    }

    fn end(&mut self) -> Looking<'_, Option<(ServerMeasurements, u64)>> {
        Box::pin(async { Some((self.total().await, 0)) })
    }

    /// The server runs its sessions as threads of one process, so the system has no figures for a single session.
    fn cpu_us(&self, _: usize) -> Option<(u64, u64)> {
        None
    }

    fn is_local(&self) -> bool {
        false
    }

    fn series(&self, stream: usize) -> Option<BackendSeries> {
        let stream = &self.streams[stream];
        stream.tally.series(stream.session, false)
    }
}

#[cfg(test)]
mod tests {
    use inrush_verdict::{BackendState, Phase};

    use super::*;

    /// A server that answers so many times.
    struct Server {
        answers: usize,
        bytes: u64,
    }

    impl SessionSampler for Server {
        fn kind(&self) -> ServerKind {
            ServerKind::SqlServer
        }

        fn look(&mut self, sessions: &[i32]) -> Result<Vec<SeenSession>> {
            let Some(left) = self.answers.checked_sub(1) else {
                return Err(Error::Unsuitable {
                    what: "the right is missing".to_owned(),
                    hint: "grant it".to_owned(),
                });
            };
            self.answers = left;
            let seen = sessions.iter().map(|session| SeenSession {
                process_id: *session,
                state: BackendState::Lock,
                event: Some("Lock:LCK_M_X".to_owned()),
                blockers: vec!["session 9".to_owned()],
            });
            Ok(seen.collect())
        }

        fn file_bytes(&mut self) -> Result<FileBytes> {
            self.bytes += 100;
            Ok(FileBytes {
                log: self.bytes,
                data: 7,
            })
        }
    }

    fn sampled(answers: usize) -> (SessionSamples, ServerMeasurements) {
        let sampler: Box<dyn SessionSampler> = Box::new(Server { answers, bytes: 0 });
        let mut samples = SessionSamples::new(Some(sampler), 2).expect("a server");
        let gauges = [Arc::new(Gauge::default()), Arc::new(Gauge::default())];
        gauges[1].served_by(52, None);
        let _waiting = gauges[1].enter(Phase::SendWait);
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build().expect("a runtime");
        let (server, _) = runtime
            .block_on(async {
                for _ in 0..3 {
                    samples.look(&gauges).await;
                }
                samples.end().await
            })
            .expect("figures");
        (samples, server)
    }

    #[test]
    fn sessions_are_sampled_with_the_phases_of_their_streams() {
        let (samples, server) = sampled(3);
        assert_eq!(samples.series(0), None);
        let series = samples.series(1).expect("samples");
        assert_eq!((series.process_id, series.samples.len()), (52, 1));
        let seen = series.samples[0];
        assert_eq!(
            (seen.phase, seen.state, seen.samples),
            (Some(Phase::SendWait), BackendState::Lock, 3)
        );
        assert_eq!(series.blockers, ["session 9"]);
        assert_eq!(server.not_sampled, None);
        assert_eq!(server.kind, ServerKind::SqlServer);
        assert_eq!(
            (server.log_growth_bytes, server.data_growth_bytes),
            (Some(100), Some(0))
        );
    }

    #[test]
    fn a_server_that_refuses_is_not_asked_again() {
        let (samples, server) = sampled(1);
        let series = samples.series(1).expect("a sample");
        assert_eq!(series.samples[0].samples, 1);
        assert_eq!(server.not_sampled.as_deref(), Some("the right is missing"));
        assert_eq!(server.log_growth_bytes, None);
        assert!(SessionSamples::new(None, 1).is_none());
    }
}
