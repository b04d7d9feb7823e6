//! Writes a file whole or not at all.
//!
//! Goes in: a path and the bytes. Comes out: the file with exactly these bytes, or an error and
//! whatever was there before. A reader never sees half a file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Replaces the contents of `path` by way of a temporary file in the same directory, which is
/// written, synced and renamed; it is removed when any of this fails. A symbolic link keeps
/// pointing where it does, permissions are kept, and what is no regular file (`/dev/null`, a pipe)
/// is written to directly, since renaming would replace it.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let before = fs::metadata(path).ok();
    if before.as_ref().is_some_and(|m| !m.is_file() && !m.is_dir()) {
        return OpenOptions::new().write(true).open(path)?.write_all(bytes);
    }
    let target = match before {
        Some(_) => fs::canonicalize(path)?,
        None => path.to_path_buf(),
    };
    let (temporary, mut file) = create_beside(&target)?;
    let written = before
        .map_or(Ok(()), |m| file.set_permissions(m.permissions()))
        .and_then(|()| fill(&mut file, bytes))
        .and_then(|()| fs::rename(&temporary, &target));
    if written.is_err() {
        // The first error is the one to tell; the temporary may already be gone.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn fill(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.flush()?;
    file.sync_all()
}

/// Creates a file of a new name in `target`'s directory. A name that a dead process with our number
/// left behind is passed over.
fn create_beside(target: &Path) -> io::Result<(PathBuf, File)> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let directory = target.parent().unwrap_or(Path::new(""));
    loop {
        let (process, number) = (std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
        let temporary = directory.join(format!(".bayplan-{process}-{number}.tmp"));
        let created = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary);
        match created {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of its own for each test, removed at the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let name = format!("bayplan-atomic-{name}-{}", std::process::id());
            let directory = std::env::temp_dir().join(name);
            fs::create_dir_all(&directory).unwrap();
            Self(directory)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let mut names: Vec<String> = entries
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_file_is_made_and_replaced_and_nothing_stays_beside_it() {
        let scratch = Scratch::new("replace");
        let path = scratch.0.join("a.plan.ron");
        for bytes in [&b"first"[..], b"", b"the third, longer"] {
            write_atomic(&path, bytes).unwrap();
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
        assert_eq!(scratch.names(), ["a.plan.ron"]);
    }

    #[test]
    fn on_failure_the_temporary_is_removed() {
        let scratch = Scratch::new("failure");
        let path = scratch.0.join("directory");
        fs::create_dir(&path).unwrap();
        assert!(write_atomic(&path, b"x").is_err());
        assert!(write_atomic(&scratch.0.join("missing/x"), b"x").is_err());
        assert_eq!(scratch.names(), ["directory"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_links_permissions_stay_and_devices_stay_devices() {
        use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
        let scratch = Scratch::new("links");
        let (real, link) = (scratch.0.join("real"), scratch.0.join("link"));
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("real", &link).unwrap();
        write_atomic(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"new");
        assert_eq!(
            fs::metadata(&real).unwrap().permissions().mode() & 0o777,
            0o640
        );
        write_atomic(Path::new("/dev/null"), b"gone").unwrap();
        let null = fs::metadata("/dev/null").unwrap();
        assert!(null.file_type().is_char_device());
    }
}
