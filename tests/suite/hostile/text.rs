//! Text: NUL characters, texts too long for an index, rows that the store refuses.
