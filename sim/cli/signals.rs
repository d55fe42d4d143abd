//! Ctrl-C and SIGTERM: the first asks whoever runs to stop where nothing is lost, the second ends
//! the program at once.

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
        for (signal, code) in [(SIGINT, 130), (SIGTERM, 143)] {
            // In this order, so that only a second signal finds the flag set. What cannot be
            // registered ends the program as before.
            let _ = register_conditional_shutdown(signal, code, Arc::clone(&flag))
                .and_then(|_| register(signal, Arc::clone(&flag)));
        }
        flag
    });
    Arc::clone(flag)
}
