//! Samples what the sessions of the streams do on the destination's server.

use std::sync::Arc;
use std::time::Duration;

use inrush_destination::{Error, Result, ServerFigures, SessionSampler};
use inrush_system::process;
use inrush_system::tcp::TcpConnection;
use inrush_verdict::{BackendSeries, BackendTally, SeenSession, ServerKind, ServerMeasurements};

use crate::gauge::Gauge;
use crate::preflight::findings::words;

/// The longest wait for the server's answer. After it the server is not asked again.
const PATIENCE: Duration = Duration::from_secs(3);

/// The sessions of a run's streams.
pub struct SessionSamples {
    /// Its calls block, so each runs on a blocking thread, which owns the sampler meanwhile. `None` after an error.
    sampler: Option<Box<dyn SessionSampler>>,
    kind: ServerKind,
    why_not: Option<String>,
    /// The figures after the first look.
    before: Option<ServerFigures>,
    streams: Vec<SampledStream>,
    is_local: bool,
}

/// The samples of one stream's sessions.
#[derive(Default)]
struct SampledStream {
    /// Its last session.
    session: i32,
    /// The session is a process of this machine.
    is_local: bool,
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
            is_local: false,
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

    /// Samples each stream's session now.
    pub async fn look(&mut self, gauges: &[Arc<Gauge>]) {
        let Some(sampler) = &self.sampler else {
            return;
        };
        for (stream, gauge) in self.streams.iter_mut().zip(gauges) {
            let session = gauge.process_id();
            if stream.session != session {
                stream.session = session;
                let is_near = gauge.tcp().is_none_or(TcpConnection::is_loopback);
                stream.is_local = is_near && sampler.is_process_here(session);
                self.is_local |= stream.is_local;
            }
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
            self.before = self.ask(|sampler| sampler.figures()).await.flatten();
        }
    }

    fn add(&mut self, seen: SeenSession, gauges: &[Arc<Gauge>]) {
        let mut streams = self.streams.iter_mut().zip(gauges);
        let Some((stream, gauge)) = streams.find(|(it, _)| it.session == seen.process_id) else {
            return;
        };
        stream.tally.add(gauge.doing(), seen.state, seen.event);
        if stream.is_local {
            let state = process::state(stream.session);
            stream.tally.add_process_state(state);
        }
        for blocker in seen.blockers {
            stream.tally.add_blocker(blocker);
        }
    }

    /// The figures of the whole server since the first look, and the microseconds of CPU that sampling took there.
    /// `None` if the sampler is not connected, without an error that says why.
    pub async fn end(&mut self) -> Option<(ServerMeasurements, u64)> {
        let is_local = self.is_local;
        let ended = self.ask(move |sampler| {
            let figures = sampler.figures()?;
            let own = sampler.own_session().filter(|_| is_local);
            let asked = own.and_then(process::cpu_us);
            sampler.close();
            Ok((figures, asked.map_or(0, |(ran, _)| ran)))
        });
        let (after, asked_us) = match ended.await {
            Some((None, _)) => return None,
            Some((after, asked_us)) => (after, asked_us),
            None => (None, 0),
        };
        let both = |figure: fn(&ServerFigures) -> Option<u64>| {
            let (before, after) = (self.before.as_ref()?, after.as_ref()?);
            Some((figure(before)?, figure(after)?))
        };
        // Files may become smaller. A counter does so only if it was reset.
        let growth = |figure| both(figure).map(|(before, after)| after.saturating_sub(before));
        let counted = |figure| both(figure).and_then(|(before, after)| after.checked_sub(before));
        let server = ServerMeasurements {
            is_local,
            kind: self.kind,
            log_growth_bytes: growth(|figures| figures.log_file_bytes),
            data_growth_bytes: growth(|figures| figures.data_file_bytes),
            wal_bytes: counted(|figures| figures.wal_bytes),
            checkpoints_timed: counted(|figures| figures.checkpoints_timed),
            checkpoints_requested: counted(|figures| figures.checkpoints_requested),
            not_sampled: self.why_not.clone(),
            // The caller knows the interval.
            sample_ms: 0,
        };
        Some((server, asked_us))
    }

    /// CPU time of a stream's session and its wait for a CPU, in microseconds; `None` if it is no process of this machine.
    pub fn cpu_us(&self, stream: usize) -> Option<(u64, u64)> {
        let stream = &self.streams[stream];
        let session = Some(stream.session).filter(|_| stream.is_local);
        session.and_then(process::cpu_us)
    }

    /// True if the server is on this machine.
    pub fn is_local(&self) -> bool {
        self.is_local
    }

    /// The samples of a stream's sessions; `None` if there is none.
    pub fn series(&self, stream: usize) -> Option<BackendSeries> {
        let stream = &self.streams[stream];
        stream.tally.series(stream.session, stream.is_local)
    }
}

#[cfg(test)]
mod tests {
    use inrush_verdict::{BackendState, Phase};

    use super::*;

    /// A server that answers a limited number of times.
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

        fn figures(&mut self) -> Result<Option<ServerFigures>> {
            self.bytes += 100;
            Ok(Some(ServerFigures {
                log_file_bytes: Some(self.bytes),
                data_file_bytes: Some(7),
                ..ServerFigures::default()
            }))
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
