//! Where the contents of pending events wait, so that the queue's own records stay small.

/// A slab: slots are reused, and the place of a value means nothing but where it is.
#[derive(Debug)]
pub(crate) struct Store<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Store<T> {
    pub(crate) fn new() -> Self {
        Store {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Keeps a value and returns its slot.
    ///
    /// # Panics
    ///
    /// With more than 2^32 values at once, which needs hundreds of gigabytes.
    #[inline]
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(value);
                slot
            }
            None => {
                self.slots.push(Some(value));
                u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 events are pending")
            }
        }
    }

    /// The value in a slot.
    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    /// Takes the value out of a slot.
    #[inline]
    pub(crate) fn take(&mut self, slot: u32) -> Option<T> {
        let value = self.slots.get_mut(slot as usize)?.take();
        if value.is_some() {
            self.free.push(slot);
        }
        value
    }
}
