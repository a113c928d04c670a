//! Secrets: filters and echoing tools never reveal a value.
