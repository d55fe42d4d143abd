//! Content that many parties hold, such as a model or a tree, written once however many they are.
//!
//! The states in a checkpoint are written one after the other. Of an `Arc` that several hold, the first writes what is in it and its
//! number, the others the number alone; read back, they hold one `Arc` again. Numbers go up in the order in which content is met, so
//! bytes depend on who holds what, and on nothing else.
//!
//! A state says so at each of its `Arc`s: `#[serde(with = "shared")]`. One that forgets it does not compile: serde's own way, which writes
//! the content once more for every holder, is switched off in this workspace.

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known of content while states are written or read.
#[derive(Default)]
struct Table {
    /// Written: the number of what lies at an address. Empty lists of different types may share one.
    numbers: BTreeMap<(usize, TypeId), u32>,
    /// Read: the `Arc` of a number.
    contents: BTreeMap<u32, Box<dyn Any>>,
}

thread_local! {
    static TABLE: RefCell<Option<Table>> = const { RefCell::new(None) };
}

/// Writes or reads states, with a table of their own. All of them are alive meanwhile, so that an address is one thing's.
pub(crate) fn in_one_table<T>(act: impl FnOnce() -> T) -> T {
    struct Scope;
    impl Drop for Scope {
        fn drop(&mut self) {
            TABLE.set(None);
        }
    }
    TABLE.set(Some(Table::default()));
    let _scope = Scope;
    act()
}

/// Who asks for shared content where no checkpoint is written or read.
const OUTSIDE: &str = "shared content is written and read in checkpoints alone";

/// An `Arc`, or perhaps one.
pub trait Holder: Sized {
    /// Writes it.
    ///
    /// # Errors
    ///
    /// As its content, and outside of a checkpoint.
    fn save<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    /// Reads it.
    ///
    /// # Errors
    ///
    /// As its content, where a number stands for nothing that came before, and outside of a checkpoint.
    fn load<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

impl<T> Holder for Arc<T>
where
    T: ?Sized + Serialize + Send + Sync + 'static,
    Box<T>: DeserializeOwned,
{
    fn save<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let place = (Arc::as_ptr(self).cast::<()>().addr(), TypeId::of::<T>());
        let known = TABLE.with_borrow_mut(|table| {
            let numbers = &mut table.as_mut()?.numbers;
            let next = numbers.len() as u32;
            let number = *numbers.entry(place).or_insert(next);
            Some((number, number == next))
        });
        let (number, is_new) = known.ok_or_else(|| S::Error::custom(OUTSIDE))?;
        (number, is_new.then_some(&**self)).serialize(serializer)
    }

    fn load<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (number, content) = <(u32, Option<Box<T>>)>::deserialize(deserializer)?;
        let content: Option<Arc<T>> = content.map(Arc::from);
        let held = TABLE.with_borrow_mut(|table| {
            let contents = &mut table.as_mut()?.contents;
            if let Some(content) = content {
                contents.insert(number, Box::new(content));
            }
            contents.get(&number)?.downcast_ref::<Arc<T>>().cloned()
        });
        held.ok_or_else(|| D::Error::custom("a number stands for no content that came before"))
    }
}

impl<H: Holder> Holder for Option<H> {
    fn save<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Saved<'a, H>(&'a H);
        impl<H: Holder> Serialize for Saved<'_, H> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.0.save(serializer)
            }
        }
        self.as_ref().map(Saved).serialize(serializer)
    }

    fn load<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Loaded<H>(H);
        impl<'de, H: Holder> Deserialize<'de> for Loaded<H> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                H::load(deserializer).map(Loaded)
            }
        }
        Ok(Option::<Loaded<H>>::deserialize(deserializer)?.map(|Loaded(held)| held))
    }
}

/// What the attribute `with` writes by.
///
/// # Errors
///
/// As [`Holder::save`].
pub fn serialize<H: Holder, S: Serializer>(held: &H, serializer: S) -> Result<S::Ok, S::Error> {
    held.save(serializer)
}

/// What the attribute `with` reads by.
///
/// # Errors
///
/// As [`Holder::load`].
pub fn deserialize<'de, H: Holder, D: Deserializer<'de>>(deserializer: D) -> Result<H, D::Error> {
    H::load(deserializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Party {
        #[serde(with = "super")]
        model: Arc<[f32]>,
        #[serde(with = "super")]
        kept: Option<Arc<Inner>>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Inner {
        n: u32,
        #[serde(with = "super")]
        model: Arc<[f32]>,
    }

    fn written(parties: &[Party]) -> Vec<u8> {
        in_one_table(|| postcard::to_allocvec(parties)).unwrap()
    }

    fn read(bytes: &[u8]) -> Result<Vec<Party>, postcard::Error> {
        in_one_table(|| postcard::from_bytes(bytes))
    }

    #[test]
    fn content_of_many_is_written_once_and_one_again_when_read() {
        let model: Arc<[f32]> = vec![0.5; 5_000].into();
        let inner = Arc::new(Inner {
            n: 7,
            model: Arc::clone(&model),
        });
        let party = |i: usize| Party {
            model: Arc::clone(&model),
            kept: (i % 2 == 1).then(|| Arc::clone(&inner)),
        };
        let parties: Vec<Party> = (0..100).map(party).collect();
        let bytes = written(&parties);
        assert!(bytes.len() < 21_000, "{} bytes", bytes.len());
        let back = read(&bytes).unwrap();
        assert_eq!(back, parties);
        assert_eq!(written(&back), bytes, "the same is shared again");
        // Nobody else holds it, so whoever lets go last may change it in place.
        assert_eq!(Arc::strong_count(&back[0].model), 101);
    }

    /// Equal content of two is theirs; lists of other types that are empty are not mixed up.
    #[test]
    fn what_is_equal_but_not_shared_stays_apart() {
        let party = || Party {
            model: [1.0, 2.0].into(),
            kept: Some(Arc::new(Inner {
                n: 1,
                model: Arc::default(),
            })),
        };
        let back = read(&written(&[party(), party()])).unwrap();
        assert!(!Arc::ptr_eq(&back[0].model, &back[1].model));
        let empty: (Nothing<u8>, Nothing<u32>) = Default::default();
        let bytes = in_one_table(|| postcard::to_allocvec(&empty)).unwrap();
        let back: (Nothing<u8>, Nothing<u32>) = in_one_table(|| postcard::from_bytes(&bytes)).unwrap();
        assert!(back.0.0.is_empty() && back.1.0.is_empty());
    }

    #[derive(Default, Serialize, Deserialize)]
    #[serde(bound = "T: Serialize + DeserializeOwned + Send + Sync + 'static")]
    struct Nothing<T>(#[serde(with = "super")] Arc<[T]>);

    #[test]
    fn a_number_without_content_and_a_state_outside_of_a_checkpoint_are_refused() {
        let bytes = written(&[Party {
            model: [1.0].into(),
            kept: None,
        }]);
        // One party, content number 0, which is there: without it, and with another number.
        assert_eq!(&bytes[..3], [1, 0, 1]);
        assert!(read(&[1, 0, 0, 0]).is_err());
        assert!(postcard::from_bytes::<Vec<Party>>(&bytes).is_err());
        assert!(postcard::to_allocvec(&read(&bytes).unwrap()).is_err());
    }
}
