//! Pages of a mapped model that were looked at are given back while it is read.
//!
//! Names and shapes of tensors stand between their elements, so reading touches a page here and there
//! in the whole file. Systems map more than that page: Linux, the whole block of its file cache that the
//! page is in, up to 2 MiB. Without this, a model of a gibibyte that was just written would count as a
//! gibibyte of this process.

use crate::bytes::Mapped;
use prost::bytes::Buf;
use std::cell::Cell;

/// Pages are given back each time this many bytes were passed.
const EVERY: u64 = 16 << 20;

/// How far reading has come since pages were last given back.
#[derive(Default)]
pub(super) struct Passed<'a> {
    /// The mapping that is read; nothing for bytes in memory.
    file: Option<&'a Mapped>,
    bytes: Cell<u64>,
    /// Where the last value stood.
    at: Cell<u64>,
}

impl<'a> Passed<'a> {
    pub(super) fn new(file: Option<&'a Mapped>) -> Self {
        Self {
            file,
            ..Self::default()
        }
    }

    /// Counts bytes that were read or jumped over.
    pub(super) fn by(&self, bytes: u64) {
        let passed = self.bytes.get().saturating_add(bytes);
        let enough = passed >= EVERY;
        self.bytes.set(if enough { 0 } else { passed });
        if enough && let Some(file) = self.file {
            file.forget();
        }
    }

    /// Counts the way to a value that is read at this offset.
    pub(super) fn to(&self, offset: u64) {
        self.by(self.at.replace(offset).abs_diff(offset));
    }
}

/// The rest of the file, for the decoder.
pub(super) struct Rest<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) passed: &'a Passed<'a>,
}

impl Buf for Rest<'_> {
    fn remaining(&self) -> usize {
        self.bytes.len()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes
    }

    fn advance(&mut self, count: usize) {
        self.bytes = &self.bytes[count..];
        self.passed.by(count as u64);
    }
}
