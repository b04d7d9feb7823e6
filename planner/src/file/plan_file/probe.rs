//! Finds the schema number of a plan file, whatever else is in it.
//!
//! Goes in: the text of any version. Comes out: its number, or why there is none. Fields before it
//! are skipped; what follows is not looked at, so a file that begins with it costs nothing.

use super::{Format, PlanFileError, from_json, from_ron, ron_options};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use std::fmt;

/// The number in the field `schema`.
pub(super) fn schema(text: &str, format: Format) -> Result<u32, PlanFileError> {
    let mut found = None;
    let probe = Probe(&mut found);
    let read = match format {
        Format::Ron => ron_options()
            .from_str_seed(text, probe)
            .map_err(|error| from_ron(text, &error)),
        Format::Json => probe
            .deserialize(&mut serde_json::Deserializer::from_str(text))
            .map_err(|error| from_json(text, &error)),
    };
    // Once the number is found, the readers complain about the rest being left over.
    match (found, read) {
        (Some(schema), _) => Ok(schema),
        (None, Err(error)) => Err(error),
        (None, Ok(())) => Err(PlanFileError::Syntax {
            message: "missing field `schema`".to_owned(),
            place: None,
        }),
    }
}

struct Probe<'f>(&'f mut Option<u32>);

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Field {
    Schema,
    #[serde(other)]
    Other,
}

impl<'de> DeserializeSeed<'de> for Probe<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_struct("PlanFile", &["schema"], self)
    }
}

impl<'de> Visitor<'de> for Probe<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plan file")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(field) = fields.next_key()? {
            match field {
                Field::Schema => {
                    *self.0 = Some(fields.next_value()?);
                    return Ok(());
                }
                Field::Other => {
                    fields.next_value::<IgnoredAny>()?;
                }
            }
        }
        Err(A::Error::missing_field("schema"))
    }
}
