//! The catalog in memory: what proposals are made of, with the versions and digests that are stored.

use std::collections::BTreeMap;

use sprag_core::operation::{Catalog, Document};
use sprag_store::records::CatalogKind;

/// Entries of a catalog at most. It is read whole.
pub(crate) const CATALOG_MAX: usize = 2_000;

/// The newest version of everything in the catalog.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoredCatalog {
    pub(crate) catalog: Catalog,
    newest: BTreeMap<(CatalogKind, String), (u32, [u8; 32])>,
}

impl StoredCatalog {
    /// Puts a version in the place of the one before.
    pub(crate) fn insert(&mut self, version: u32, document: Document) {
        let key = (kind_of(&document), document.name().to_owned());
        self.newest.insert(key, (version, document.digest()));
        self.catalog.insert(version, document);
    }

    /// The newest version of something, with its digest.
    pub(crate) fn newest(&self, document: &Document) -> Option<(u32, [u8; 32])> {
        let key = (kind_of(document), document.name().to_owned());
        self.newest.get(&key).copied()
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.newest.len()
    }
}

/// What a document is about.
pub(crate) fn kind_of(document: &Document) -> CatalogKind {
    match document {
        Document::Subject(_) => CatalogKind::Subject,
        Document::Operation(_) => CatalogKind::Operation,
    }
}
