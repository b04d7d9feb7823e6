//! Names and scopes of the walk: what a name means where.
//!
//! Names live in scopes, innermost last; a body sees the names around it. A scope is called after all
//! bodies around it, within a limit: a hostile file could repeat a long name for every node.

use super::error::OnnxError;
use super::walk::{Entry, Kind, Walk};
use crate::infer::Fact;
use std::collections::HashMap;

/// Bytes of the names of bodies, one by one and over all that is in them.
pub(super) const MAX_LETTERS: usize = 1 << 28;
/// More of them.
pub(super) const LETTERS: OnnxError = OnnxError::TooMany {
    what: "bytes in names of bodies",
    limit: MAX_LETTERS,
};

impl<'a> Walk<'a> {
    /// Declares `name` in the innermost scope.
    pub(super) fn define(
        &mut self,
        name: &'a str,
        scope: Option<usize>,
        mut fact: Fact,
        kind: Kind,
    ) -> Result<usize, OnnxError> {
        let kept = fact.value.as_ref().map_or(0, |value| value.len() as u64);
        match self.memory.checked_sub(kept) {
            Some(rest) => self.memory = rest,
            None => fact.value = None,
        }
        let id = self.entries.len();
        self.entries.push(Entry {
            name,
            scope,
            fact,
            kind,
            place: None,
        });
        self.bind(name, id)?;
        Ok(id)
    }

    /// Declares a tensor of a body that no name means.
    pub(super) fn unnamed(&mut self, name: &'a str, scope: usize, fact: Fact) -> usize {
        self.entries.push(Entry {
            name,
            scope: Some(scope),
            fact,
            kind: Kind::Made,
            place: None,
        });
        self.entries.len() - 1
    }

    /// Lets `name` mean entry `id` in the innermost scope.
    pub(super) fn bind(&mut self, name: &'a str, id: usize) -> Result<(), OnnxError> {
        let innermost = self.scopes.last_mut().map(|scope| scope.insert(name, id));
        if innermost.flatten().is_some() {
            return Err(OnnxError::Duplicate {
                tensor: name.to_owned(),
            });
        }
        Ok(())
    }

    /// The entry that `name` means.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.scopes
            .iter()
            .rev()
            .find_map(|scope| scope.get(name).copied())
    }

    /// A scope for names and steps of a body; it is called after all around it.
    pub(super) fn scope(&mut self, around: Option<usize>, name: &str) -> Result<usize, OnnxError> {
        let around = around.map(|scope| &*self.labels[scope]);
        let label = around.map_or_else(|| name.to_owned(), |around| format!("{around}/{name}"));
        self.letters = self.letters.checked_sub(label.len()).ok_or(LETTERS)?;
        self.labels.push(label);
        self.scopes.push(HashMap::new());
        Ok(self.labels.len() - 1)
    }
}
