//! Work shared by several threads.

/// Does the work on `count` threads, the caller's own among them. If one cannot be started, the others do its part.
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
