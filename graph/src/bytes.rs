//! Files as bytes, mapped: weights are never copied, and only the pages that are looked at are read.
//!
//! Goes in: a path. Comes out: [`Mapped`], which is a slice. This is the only place of the workspace
//! with `unsafe`: to map, and to give pages back.

use std::fs::File;
use std::io::Read as _;
use std::ops::Deref;
use std::path::Path;

/// The contents of a file.
#[derive(Debug)]
pub struct Mapped(Contents);

#[derive(Debug)]
enum Contents {
    Mapped(memmap2::Mmap),
    Read(Vec<u8>),
}

impl Mapped {
    /// Opens a file. What is no regular file (a pipe) cannot be mapped and is read, up to `limit`
    /// bytes; so is an empty file.
    pub fn open(path: &Path, limit: u64) -> std::io::Result<Self> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_file() && metadata.len() > 0 {
            return Ok(Self(Contents::Mapped(map(&file)?)));
        }
        let mut bytes = Vec::new();
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            let message = format!("it is more than {limit} bytes and no regular file");
            return Err(std::io::Error::new(
                std::io::ErrorKind::FileTooLarge,
                message,
            ));
        }
        Ok(Self(Contents::Read(bytes)))
    }

    /// Gives pages that were looked at back to the system; whoever looks again finds the same bytes.
    /// Does nothing where the system cannot do that.
    pub fn forget(&self) {
        #[cfg(unix)]
        if let Contents::Mapped(map) = &self.0 {
            forget(map);
        }
    }
}

#[cfg(unix)]
#[expect(
    unsafe_code,
    reason = "what was read of a file would else count as memory of this process until its end"
)]
fn forget(map: &memmap2::Mmap) {
    // SAFETY: the mapping is of a file, shared and read-only, so a page that is dropped comes back with
    // the bytes of the file when it is read again, as when the system itself drops one. A failure
    // changes nothing.
    let _ = unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
}

#[expect(
    unsafe_code,
    reason = "mapping is the only way to read a model without copying it; readers check every offset against the mapped length, and a file that another process shrinks meanwhile ends this one with a signal, as with every program that maps files"
)]
fn map(file: &File) -> std::io::Result<memmap2::Mmap> {
    // SAFETY: the mapping is private to this process and never written. Another process that
    // changes the file changes what readers see; they copy each number once before they check it.
    unsafe { memmap2::Mmap::map(file) }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Contents::Mapped(map) => map,
            Contents::Read(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_bytes_and_an_empty_one_is_none() {
        let folder = std::env::temp_dir().join(format!("bayplan-bytes-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for contents in [&b"TFL3"[..], b""] {
            let path = folder.join("file");
            std::fs::write(&path, contents).unwrap();
            let mapped = Mapped::open(&path, 10).unwrap();
            assert_eq!(&*mapped, contents);
            mapped.forget();
            assert_eq!(&*mapped, contents);
        }
        assert!(Mapped::open(&folder, 10).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
