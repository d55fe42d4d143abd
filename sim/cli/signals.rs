//! Ctrl-C, SIGTERM and SIGHUP: the first stops a run or sweep where nothing is lost, the second ends
//! the program at once. A limit of file sizes is an error of the write that goes beyond it.

#[cfg(unix)]
use signal_hook::consts::{SIGHUP, SIGXFSZ};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

/// Set once the program has been asked to stop. From the first call on; until then a signal ends
/// the program.
pub(crate) fn stop_flag() -> Arc<AtomicBool> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    let flag = FLAG.get_or_init(|| {
        let flag = Arc::new(AtomicBool::new(false));
        #[cfg(unix)]
        let hang_up = (!is_ignored(SIGHUP)).then_some((SIGHUP, 129));
        #[cfg(not(unix))]
        let hang_up = None;
        for (signal, code) in [(SIGINT, 130), (SIGTERM, 143)].into_iter().chain(hang_up) {
            // In this order, so that only a second signal finds the flag set. What cannot be
            // registered ends the program as before.
            let _ = register_conditional_shutdown(signal, code, Arc::clone(&flag))
                .and_then(|_| register(signal, Arc::clone(&flag)));
        }
        flag
    });
    Arc::clone(flag)
}

/// Whether the parent process has set a signal to be ignored, as `nohup` does with SIGHUP. True
/// where `/proc` does not say.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_none_or(|mask| mask >> (signal - 1) & 1 == 1)
}

/// A write beyond the largest file that is allowed then fails as on a full disk, where the signal
/// would end the program without a word.
pub(crate) fn outlive_file_limit() {
    #[cfg(unix)]
    let _ = register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}
