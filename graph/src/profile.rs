//! What a target demands of a plan: alignment, and the name that goes into the plan file.
//!
//! A plan made for one profile is never applied to another. Further profiles (stock runtimes, GPUs)
//! come with their readers and executors; an unknown name is an error that lists these.

use serde::{Deserialize, Serialize};

/// A target's rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// Its name in flags and files.
    pub name: String,
    /// Offsets of model files are multiples of this.
    pub alignment: u64,
}

impl Profile {
    /// Names of all profiles.
    pub const NAMES: [&'static str; 1] = ["bayplan"];

    /// Our own: starts at multiples of 64 bytes, sizes as they are.
    pub fn bayplan() -> Self {
        Self {
            name: "bayplan".into(),
            alignment: 64,
        }
    }

    /// The profile with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        (name == "bayplan").then(Self::bayplan)
    }
}
