//! What is worked out once in a process and kept for its next runs, as those of a sweep that differ
//! in what it does not depend on.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The last few values of a function by what it was asked. A value follows from its key alone, so
/// no result depends on what was asked before.
pub struct Known<K, V> {
    most: usize,
    cells: Mutex<Vec<(K, Arc<OnceLock<V>>)>>,
}

impl<K: PartialEq, V: Clone> Known<K, V> {
    /// Room for `most` values; the oldest goes first.
    pub const fn new(most: usize) -> Self {
        Known {
            most,
            cells: Mutex::new(Vec::new()),
        }
    }

    /// The value of a key, from `make` if it is not there. Who asks while another makes it waits.
    pub fn get(&self, key: K, make: impl FnOnce() -> V) -> V {
        self.cell(key).get_or_init(make).clone()
    }

    fn cell(&self, key: K) -> Arc<OnceLock<V>> {
        let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, cell)) = cells.iter().find(|(other, _)| *other == key) {
            return Arc::clone(cell);
        }
        if cells.len() == self.most {
            cells.remove(0);
        }
        let cell = Arc::default();
        cells.push((key, Arc::clone(&cell)));
        cell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_made_once_until_newer_ones_take_its_room() {
        let known = Known::new(2);
        let mut made = Vec::new();
        for key in [1, 2, 1, 3, 2, 1] {
            let value = known.get(key, || {
                made.push(key);
                key * 10
            });
            assert_eq!(value, key * 10);
        }
        // 3 took the room of 1, which is made again.
        assert_eq!(made, [1, 2, 3, 1]);
    }
}
