//! System calls that no crate in use offers as safe functions: the processor time of this process, the kernel's figures
//! of a TCP connection, and the pages of a file that are in memory.
//!
//! # Why it is sound
//!
//! Every call gets memory that the code of this file owns, with its true length, valid during the call. The memory is
//! read only if the call reports that it has filled the memory. If a descriptor is not of the needed kind, the call
//! returns an error.
#![expect(
    unsafe_code,
    reason = "system calls for which no crate in use has safe functions"
)]

use std::fs::File;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};

use rustix::param::page_size;

/// CPU seconds of this process so far, user and system.
pub fn processor_times() -> Option<(f64, f64)> {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: getrusage fills the given struct, which is read only if the call succeeds.
    let usage = unsafe {
        if libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) != 0 {
            return None;
        }
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Some((seconds(usage.ru_utime), seconds(usage.ru_stime)))
}

/// The number of pages in this range of a file that are in memory. The range must begin at the start of a page.
pub fn resident_pages(file: &File, bytes: Range<u64>) -> Option<u64> {
    let length = usize::try_from(bytes.end - bytes.start).ok()?;
    let start = libc::off_t::try_from(bytes.start).ok()?;
    let mut pages = vec![0_u8; length.div_ceil(page_size().max(1))];
    // SAFETY: the mapping is made and removed here, and is never read; `pages` has a byte for each of its pages.
    let known = unsafe {
        let mapped = libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            start,
        );
        if mapped == libc::MAP_FAILED {
            return None;
        }
        let asked = libc::mincore(mapped, length, pages.as_mut_ptr().cast());
        libc::munmap(mapped, length);
        asked == 0
    };
    known.then(|| pages.iter().filter(|page| **page & 1 == 1).count() as u64)
}

/// `struct tcp_info` of `linux/tcp.h` as in Linux 4.10, which introduced the times.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct TcpInfo {
    state_and_options: [u8; 8],
    rto: u32,
    ato: u32,
    /// Bytes of a full segment.
    pub snd_mss: u32,
    rcv_mss: u32,
    unacked: u32,
    sacked: u32,
    lost: u32,
    retrans: u32,
    fackets: u32,
    last_data_sent: u32,
    last_ack_sent: u32,
    last_data_recv: u32,
    last_ack_recv: u32,
    pmtu: u32,
    rcv_ssthresh: u32,
    /// The smoothed round trip, microseconds.
    pub rtt: u32,
    rttvar: u32,
    snd_ssthresh: u32,
    /// The congestion window, segments.
    pub snd_cwnd: u32,
    advmss: u32,
    reordering: u32,
    rcv_rtt: u32,
    rcv_space: u32,
    /// Segments sent again.
    pub total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    bytes_acked: u64,
    bytes_received: u64,
    /// Segments sent, with and without data.
    pub segs_out: u32,
    /// Segments received, with and without data.
    pub segs_in: u32,
    notsent_bytes: u32,
    /// The shortest round trip, microseconds.
    pub min_rtt: u32,
    data_segs_in: u32,
    /// Segments with data that were sent.
    pub data_segs_out: u32,
    /// Bytes per second, as last measured.
    pub delivery_rate: u64,
    /// Microseconds in which data was in flight or waited to be sent.
    pub busy_time: u64,
    /// The part of these microseconds in which the receiver's window limited sending.
    pub rwnd_limited: u64,
    /// The part of these microseconds in which the send buffer limited sending.
    pub sndbuf_limited: u64,
}

impl TcpInfo {
    /// The figures of a socket; `None` if it is not TCP, or if the kernel is too old. The socket is named by its
    /// number, because a caller in another thread does not own it. If the socket has been closed meanwhile, the call
    /// fails, or it reads the figures of another socket that has this number now, and nothing else of it.
    pub fn of(socket: RawFd) -> Option<TcpInfo> {
        let mut info = TcpInfo::default();
        let size = size_of::<TcpInfo>() as libc::socklen_t;
        let mut filled = size;
        // SAFETY: the kernel writes at most `filled` bytes, and `filled` is the size of the struct. All fields of the
        // struct are integers.
        let done = unsafe {
            libc::getsockopt(
                socket,
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                (&raw mut info).cast(),
                &raw mut filled,
            )
        };
        (done == 0 && filled == size).then_some(info)
    }
}
