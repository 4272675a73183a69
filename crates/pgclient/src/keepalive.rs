//! The settings by which a silent server is detected.

use std::time::Duration;

use super::settings::UrlSettings;

/// After this time of silence the peer is probed, every `KEEPALIVE_INTERVAL`, up to `KEEPALIVE_COUNT` times.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_COUNT: u32 = 6;

/// The settings that detect a silent peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    /// The silence before the first probe; `None` without keepalives.
    pub idle: Option<Duration>,
    /// The time between probes.
    pub interval: Duration,
    /// The number of unanswered probes after which the connection is given up.
    pub count: u32,
    /// The longest time that sent data may stay unacknowledged.
    pub user_timeout: Option<Duration>,
}

impl Keepalive {
    /// The silence after which a dead peer is detected; `None` without keepalives.
    pub fn patience(&self) -> Option<Duration> {
        self.idle.map(|idle| idle + self.interval * self.count)
    }
}

/// The keepalives that the settings ask for.
pub(super) fn keepalive(settings: &UrlSettings) -> Result<Keepalive, String> {
    let idle = settings
        .seconds("keepalives_idle")?
        .unwrap_or(KEEPALIVE_IDLE);
    let interval = settings
        .seconds("keepalives_interval")?
        .unwrap_or(KEEPALIVE_INTERVAL);
    let count = match settings.number("keepalives_count")? {
        None | Some(0) => KEEPALIVE_COUNT,
        Some(count) => u32::try_from(count).map_err(|_| "keepalives_count is too large")?,
    };
    let user_timeout = match settings.number("tcp_user_timeout")? {
        Some(0) => None,
        Some(milliseconds) => Some(Duration::from_millis(milliseconds)),
        // Unacknowledged data is given up after the same time as an idle peer.
        None => Some(idle + interval * count),
    };
    Ok(Keepalive {
        idle: (settings.number("keepalives")? != Some(0)).then_some(idle),
        interval,
        count,
        user_timeout,
    })
}
