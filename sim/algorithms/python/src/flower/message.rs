//! Messages of an app: what Flower's metadata say, the content as bytes, and the size in Flower's
//! own serialisation.

use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A message of the ServerApp, or a reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AppMessage {
    pub(crate) head: Head,
    /// Records as Flower encodes them; `None` of an error.
    #[serde(with = "shared")]
    pub(crate) content: Option<Arc<[u8]>>,
}

/// All of a message but its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// The number of the message of the server, which its reply has too.
    pub(crate) number: u64,
    /// Flower's type, such as `train`.
    pub(crate) kind: String,
    pub(crate) group: String,
    /// In nanoseconds.
    pub(crate) created_at: u64,
    /// In nanoseconds.
    pub(crate) ttl: u64,
    /// The code and the reason.
    pub(crate) error: Option<(i64, String)>,
    /// The size in Flower's serialisation.
    pub(crate) bytes: u64,
}

impl AppMessage {
    /// Whether its time to live is over.
    pub(crate) fn has_expired(&self, now: SimTime) -> bool {
        now.0 > self.head.created_at.saturating_add(self.head.ttl)
    }

    fn coded(&self) -> Vec<u8> {
        serde_json::to_vec(&self.head).expect("plain values have a form in JSON")
    }
}

impl Payload for AppMessage {
    fn encoded_len(&self) -> usize {
        5 + self.coded().len() + self.content.as_ref().map_or(0, |content| content.len())
    }

    fn counted_len(&self) -> u64 {
        self.head.bytes
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let head = self.coded();
        out.extend((head.len() as u32).to_le_bytes());
        out.extend(head);
        out.push(u8::from(self.content.is_some()));
        if let Some(content) = &self.content {
            content.encode(out);
        }
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        let n = reader.u32()?;
        let coded: Vec<u8> = (0..n).map(|_| reader.u8()).collect::<Result<_, _>>()?;
        let head = serde_json::from_slice(&coded).map_err(|_| DecodeError::Invalid("no head of a message"))?;
        let content = match reader.u8()? {
            0 => None,
            _ => Some(Payload::decode(reader)?),
        };
        Ok(AppMessage { head, content })
    }
}

messages! {
    /// Messages of the ServerApp, by the type that Flower gives them.
    pub enum Down {
        /// A `train` message, with or without an action (`train.ACTION`).
        0, "train", "train" => Train(message: AppMessage),
        /// An `evaluate` message.
        1, "evaluate", "evaluate" => Evaluate(message: AppMessage),
        /// A `query` message.
        2, "query", "query" => Query(message: AppMessage),
        /// A question of the older API for the parameters of a client.
        3, "setup", "get_parameters" => GetParameters(message: AppMessage),
        /// A question of the older API for the properties of a client.
        4, "setup", "get_properties" => GetProperties(message: AppMessage),
        /// A message of any other type.
        5, "other", "other" => Other(message: AppMessage),
    }
}

messages! {
    /// Replies of the ClientApp, by the type of the message that they answer.
    pub enum Up {
        /// A reply to `train`.
        0, "train", "train" => Train(reply: AppMessage),
        /// A reply to `evaluate`.
        1, "evaluate", "evaluate" => Evaluate(reply: AppMessage),
        /// A reply to `query`.
        2, "query", "query" => Query(reply: AppMessage),
        /// The parameters of a client.
        3, "setup", "get_parameters" => GetParameters(reply: AppMessage),
        /// The properties of a client.
        4, "setup", "get_properties" => GetProperties(reply: AppMessage),
        /// A reply to any other message.
        5, "other", "other" => Other(reply: AppMessage),
    }
}

/// The type of a message without its action.
pub(crate) fn category(kind: &str) -> &str {
    kind.split('.').next().unwrap_or(kind)
}

macro_rules! by_type {
    ($($messages:ident)*) => {$(
        impl $messages {
            pub(crate) fn of(message: AppMessage) -> $messages {
                match category(&message.head.kind) {
                    "train" => $messages::Train(message),
                    "evaluate" => $messages::Evaluate(message),
                    "query" => $messages::Query(message),
                    "get_parameters" => $messages::GetParameters(message),
                    "get_properties" => $messages::GetProperties(message),
                    _ => $messages::Other(message),
                }
            }

            pub(crate) fn into_message(self) -> AppMessage {
                match self {
                    $messages::Train(message)
                    | $messages::Evaluate(message)
                    | $messages::Query(message)
                    | $messages::GetParameters(message)
                    | $messages::GetProperties(message)
                    | $messages::Other(message) => message,
                }
            }
        }
    )*};
}

by_type! { Down Up }

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: &str, content: Option<&[u8]>) -> AppMessage {
        AppMessage {
            head: Head {
                number: 3,
                kind: kind.to_owned(),
                group: String::new(),
                created_at: 5,
                ttl: 10,
                error: content.is_none().then(|| (2, "ü".to_owned())),
                bytes: 1000,
            },
            content: content.map(Arc::from),
        }
    }

    #[test]
    fn a_message_is_read_as_it_was_written() {
        for content in [None, Some(&b""[..]), Some(&[1, 2, 3])] {
            let up = Up::of(message("query.size", content));
            assert_eq!((up.kind(), up.payload_len()), (2, 1000));
            let mut bytes = Vec::new();
            up.encode(&mut bytes);
            assert_eq!(bytes.len(), up.encoded_len());
            let back = Up::decode(2, &bytes).unwrap().into_message();
            assert_eq!(back, message("query.size", content));
            assert!(Up::decode(2, &bytes[..7]).is_err());
        }
    }

    #[test]
    fn a_message_expires_after_its_time_to_live() {
        let message = message("train", None);
        assert!(!message.has_expired(SimTime(15)));
        assert!(message.has_expired(SimTime(16)));
    }
}
