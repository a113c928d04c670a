//! Whether bytes are what their writer wrote: checksums of stored records, digests of bodies, signatures of webhooks.

pub mod checksum;
pub mod digest;
pub mod signature;
