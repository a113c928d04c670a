//! The catalog: subjects and operations, versioned as machines are. Newest versions are what proposals use.

use sprag_core::time::Timestamp;

use super::Json;
use sprag_core::words;

words! {
    /// What an entry of the catalog is. The numbers are stored: never renumber.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[repr(u8)]
    pub enum CatalogKind as word {
        /// A system that operations act on.
        Subject = 0 => "subject",
        /// Something that can be proposed.
        Operation = 1 => "operation",
    }
}

/// One version of an entry of the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogVersion {
    /// What it is.
    pub kind: CatalogKind,
    /// Its name.
    pub name: String,
    /// From 1.
    pub version: u32,
    /// Of the canonical definition.
    pub digest: [u8; 32],
    /// As it was given.
    pub definition: Json,
    /// When it was applied.
    pub created_at: Timestamp,
}
