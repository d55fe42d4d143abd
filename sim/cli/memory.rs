//! Memory use of the program, free memory, and runs that need more.

use crate::exit::Exit;
use crate::output::warn;
use crate::signals::stop_flag;
use crate::text;
use folkmoot_metrics::Unit;
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What the program uses at most before a run is stopped, in bytes; `u64::MAX` for no limit.
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);

/// What it used when that was exceeded, in bytes; 0 before.
static EXCEEDED: AtomicU64 = AtomicU64::new(0);

/// How often the program looks at what it uses.
const LOOK: Duration = Duration::from_millis(50);

/// A run that is asked to stop finishes its window and saves its state. Both take time and memory.
/// After so many looks, or beyond so many times the limit, the program ends all the same.
const PATIENCE: u32 = 600;
const AT_ONCE: u64 = 2;

/// An amount of memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Size(pub(crate) u64);

impl FromStr for Size {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const RULE: &str = "must be a number above 0 with its unit, one of kB, MB, GB, TB, MiB and GiB, such as 4GB";
        let (number, unit) = text.split_at(text.find(char::is_alphabetic).ok_or(RULE)?);
        let unit = match unit {
            "kB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            "TB" => 1e12,
            "MiB" => 1024.0 * 1024.0,
            "GiB" => 1024.0 * 1024.0 * 1024.0,
            _ => return Err(RULE),
        };
        let bytes = number.trim().parse::<f64>().map_err(|_| RULE)? * unit;
        match (1.0..1e18).contains(&bytes) {
            true => Ok(Size(bytes as u64)),
            false => Err(RULE),
        }
    }
}

/// From now on a run stops, with its state saved, where the program uses more than `limit`.
pub(crate) fn bound(limit: Option<Size>) {
    let Some(Size(limit)) = limit else {
        return;
    };
    LIMIT.store(limit, Ordering::Relaxed);
    std::thread::spawn(move || {
        let mut looks = 0;
        loop {
            let used = used().unwrap_or_default();
            if used > limit {
                looks += 1;
                if EXCEEDED.fetch_max(used, Ordering::Relaxed) == 0 {
                    stop_flag().store(true, Ordering::Relaxed);
                }
            }
            if looks > PATIENCE || used / AT_ONCE > limit {
                warn(&format!("error: {}", exceeded().unwrap_or_default()));
                std::process::exit(2);
            }
            std::thread::sleep(LOOK);
        }
    });
}

/// That the limit was exceeded, if it was, and the way out.
pub(crate) fn exceeded() -> Option<String> {
    let used = EXCEEDED.load(Ordering::Relaxed);
    let limit = LIMIT.load(Ordering::Relaxed);
    (used > 0).then(|| {
        format!(
            "the program uses {} of memory, more than --max-memory allows ({})\n{WAYS_OUT}",
            amount(used),
            amount(limit)
        )
    })
}

fn amount(bytes: u64) -> String {
    text::measured("bytes", bytes as f64, Unit::Bytes)
}

const WAYS_OUT: &str = "help: raise --max-memory if there is more, or use fewer clients, a smaller model or less data";

/// Whether `bytes` more suit the limit, or where there is none, what is free here.
pub(crate) fn fits(bytes: u64) -> Result<(), String> {
    let limit = LIMIT.load(Ordering::Relaxed);
    let used = used().unwrap_or_default();
    let needed = used.saturating_add(bytes);
    if limit != u64::MAX {
        return match needed > limit {
            true => Err(format!(
                "the run needs about {} of memory, more than --max-memory allows ({})\n{WAYS_OUT}",
                amount(needed),
                amount(limit)
            )),
            false => Ok(()),
        };
    }
    match free() {
        Some(free) if bytes > free => Err(format!(
            "the run needs about {} of memory, and {} are free\n\
             help: use fewer clients, a smaller model or less data; --max-memory {}GB runs it all the same",
            amount(needed),
            amount(free),
            needed / 900_000_000 + 1
        )),
        _ => Ok(()),
    }
}

/// What the program uses, in bytes.
pub(crate) fn used() -> Option<u64> {
    status(["VmRSS:"])[0]
}

/// What the system tells of this process's memory under these names, in bytes.
pub(crate) fn status<const N: usize>(names: [&str; N]) -> [Option<u64>; N] {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    names.map(|name| kib(&status, name))
}

/// The number of kB behind a name, in bytes.
fn kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// What can still be taken, in bytes: the least that the machine, the limit of address space and
/// the control groups leave. Nothing where none of them tells.
fn free() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let machine = kib(&read("/proc/meminfo"), "MemAvailable:");
    let limits = read("/proc/self/limits");
    let space = limits.lines().find_map(|line| line.strip_prefix("Max address space"));
    let space: Option<u64> = space.and_then(|line| line.split_whitespace().next()?.parse().ok());
    let [taken] = status(["VmSize:"]);
    let space = space.map(|space| space.saturating_sub(taken.unwrap_or_default()));
    let group = group_left(Path::new("/sys/fs/cgroup"), &read("/proc/self/cgroup"));
    [machine, space, group].into_iter().flatten().min()
}

/// What the control group of the process and those above it leave, by the second version of their
/// file system.
fn group_left(root: &Path, own: &str) -> Option<u64> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let number = |path: &Path| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let left = |group: &Path| {
        let (most, now) = (
            number(&group.join("memory.max"))?,
            number(&group.join("memory.current"))?,
        );
        Some(most.saturating_sub(now))
    };
    let own = root.join(path);
    let groups = own.ancestors().take_while(|group| group.starts_with(root));
    groups.filter_map(left).min()
}

/// The exit of a run that stopped since it used too much.
pub(crate) fn stopped(go_on: &str) -> Option<Exit> {
    exceeded().map(|why| {
        Exit::usage(format!(
            "error: {why}\n  the state is saved; resume with: {go_on} --max-memory SIZE"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_a_number_with_its_unit() {
        let read = |text: &str| text.parse::<Size>();
        assert_eq!(
            [read("4GB"), read("1.5 MB"), read("2GiB"), read("100kB")],
            [4_000_000_000, 1_500_000, 2_147_483_648, 100_000].map(|bytes| Ok(Size(bytes)))
        );
        for wrong in ["", "4", "GB", "-1GB", "0MB", "4gb", "4 G B", "nanGB", "1e99GB"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_control_groups_leave_is_the_least_of_those_above() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        let write = |group: &Path, most: &str, now: &str| {
            std::fs::write(group.join("memory.max"), most).unwrap();
            std::fs::write(group.join("memory.current"), now).unwrap();
        };
        write(&inner, "max\n", "5\n");
        write(&root.path().join("a"), "1000\n", "300\n");
        assert_eq!(group_left(root.path(), "0::/a/b\n"), Some(700));
        write(&inner, "100\n", "150\n");
        assert_eq!(group_left(root.path(), "0::/a/b\n"), Some(0));
        assert_eq!(group_left(root.path(), "0::/\n"), None);
        assert_eq!(group_left(root.path(), "1:memory:/a\n"), None);
    }

    #[test]
    fn what_no_machine_has_does_not_fit() {
        assert!(fits(1).is_ok());
        let why = fits(u64::MAX / 2).unwrap_err();
        assert!(why.contains("are free") && why.contains("help: "), "{why}");
    }
}
