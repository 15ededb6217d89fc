//! What a worker hands to the verification besides its findings.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes, which are base64 in the lines between runner and workers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Attachment(pub Vec<u8>);

impl Serialize for Attachment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Attachment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text.as_bytes()).map_err(D::Error::custom)?;
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attachment_reads_back() {
        let attachment = Attachment((0..=255).collect());
        let line = serde_json::to_vec(&attachment).unwrap();
        let read: Attachment = serde_json::from_slice(&line).unwrap();
        assert_eq!(read, attachment);
        assert!(serde_json::from_str::<Attachment>("\"*\"").is_err());
    }
}
