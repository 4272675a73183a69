//! Work that several threads share.

/// Does the work on so many threads, the caller's own among them; where one cannot be had, the others do its part.
pub fn share(count: usize, work: impl Fn() + Sync) {
    std::thread::scope(|scope| {
        for _ in 1..count {
            if std::thread::Builder::new()
                .spawn_scoped(scope, &work)
                .is_err()
            {
                break;
            }
        }
        work();
    });
}
