//! Whether bytes are what their writer wrote: chains of the audit, checksums of stored records, digests of bodies, signatures
//! of webhooks.

pub mod audit;
pub mod checksum;
pub mod digest;
pub mod signature;
