//! What an app's functions keep from call to call: a form in JSON, in which arrays stand by name.

use crate::protocol::{Array, Frame};
use folkmoot_engine::prelude::StrategyError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A value that an app keeps, as its worker packs it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeptState {
    /// In JSON; without one, nothing is kept yet.
    pub(crate) form: Option<String>,
    pub(crate) arrays: Vec<KeptArray>,
}

/// An array as [`Array`], for checkpoints and messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeptArray {
    pub(crate) name: String,
    pub(crate) dtype: String,
    pub(crate) shape: Vec<usize>,
    #[serde(with = "serde_bytes")]
    pub(crate) bytes: Vec<u8>,
}

impl KeptArray {
    pub(crate) fn of(array: Array<'_>) -> KeptArray {
        KeptArray {
            name: array.name.into_owned(),
            dtype: array.dtype.into_owned(),
            shape: array.shape,
            bytes: array.bytes.into_owned(),
        }
    }

    pub(crate) fn as_sent(&self) -> Array<'_> {
        Array {
            name: self.name.as_str().into(),
            dtype: self.dtype.as_str().into(),
            shape: self.shape.clone(),
            bytes: self.bytes.as_slice().into(),
        }
    }
}

impl KeptState {
    /// From the bytes of [`written`](Self::written); nothing from none.
    pub(crate) fn read(bytes: &[u8]) -> Result<KeptState, StrategyError> {
        match bytes {
            [] => Ok(KeptState::default()),
            bytes => postcard::from_bytes(bytes).map_err(|error| unread(&error)),
        }
    }

    pub(crate) fn written(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("a form and arrays can be written")
    }

    /// Puts it into a request, as the field `field` and its arrays; nothing where nothing is kept.
    pub(crate) fn put<'a>(&'a self, field: &str, request: &mut Frame<'a>) -> Result<(), StrategyError> {
        if let Some(form) = &self.form {
            let form: Value = serde_json::from_str(form).map_err(|error| unread(&error))?;
            request.header.insert(field.to_owned(), form);
            request.arrays.extend(self.arrays.iter().map(KeptArray::as_sent));
        }
        Ok(())
    }

    /// Takes the field and all arrays that are left out of a reply, if it has the field.
    pub(crate) fn taken(field: &str, reply: &mut Frame<'static>) -> Option<KeptState> {
        let form = reply.header.remove(field)?;
        Some(KeptState {
            form: Some(form.to_string()),
            arrays: std::mem::take(&mut reply.arrays)
                .into_iter()
                .map(KeptArray::of)
                .collect(),
        })
    }
}

fn unread(error: &dyn std::fmt::Display) -> StrategyError {
    StrategyError(format!("what the app keeps cannot be read: {error}"))
}
