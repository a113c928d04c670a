//! Where mutation begins: the files of the examples and of the simulator.

use std::path::{Path, PathBuf};

/// Files of the repository whose name ends so, below these folders.
pub(crate) fn files(folders: &[&str], ending: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut texts = Vec::new();
    for folder in folders {
        collect(&root.join(folder), ending, &mut texts);
    }
    assert!(!texts.is_empty(), "no file in {folders:?} ends with `{ending}`");
    texts
}

fn collect(folder: &Path, ending: &str, texts: &mut Vec<String>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    // The order of a folder is no one's promise, and inputs follow it.
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, ending, texts);
        } else if path.to_string_lossy().ends_with(ending) {
            texts.push(std::fs::read_to_string(&path).unwrap());
        }
    }
}
