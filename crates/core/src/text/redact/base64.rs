//! What a secret looks like inside base64.
//!
//! A secret in the middle of an encoded text begins at the first, second or third byte of a group. In each case the
//! characters that hold nothing but its bits are the same whatever surrounds it; the characters at its edges hold
//! a neighbour's bits too.

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const CHARACTER_BITS: usize = 6;
const BYTE_BITS: usize = 8;
const GROUP_BYTES: usize = 3;

/// The characters that are surely there, and how many more at each edge hold bits of the secret.
pub(super) struct Form {
    pub(super) characters: Vec<u8>,
    pub(super) margin: (usize, usize),
}

/// Every form the value can take.
pub(super) fn forms(value: &[u8]) -> Vec<Form> {
    let mut forms: Vec<Form> = Vec::new();
    for alphabet in [STANDARD, URL_SAFE] {
        for offset in 0..GROUP_BYTES {
            let form = form(value, offset, alphabet);
            // Most secrets look the same in both alphabets.
            if !form.characters.is_empty() && !forms.iter().any(|known| known.characters == form.characters) {
                forms.push(form);
            }
        }
    }
    forms
}

/// The form of a value that begins `offset` bytes into a group.
fn form(value: &[u8], offset: usize, alphabet: &[u8; 64]) -> Form {
    let begin = offset * BYTE_BITS;
    let end = begin + value.len() * BYTE_BITS;
    let first = begin.div_ceil(CHARACTER_BITS);
    let last = end / CHARACTER_BITS;
    let characters = (first..last).map(|index| character(value, index * CHARACTER_BITS - begin, alphabet));
    let divided = |bit: usize| usize::from(!bit.is_multiple_of(CHARACTER_BITS));
    Form {
        characters: characters.collect(),
        margin: (divided(begin), divided(end)),
    }
}

/// The character made of the six bits from `bit` on.
fn character(value: &[u8], bit: usize, alphabet: &[u8; 64]) -> u8 {
    let byte = |index: usize| u16::from(value.get(index).copied().unwrap_or(0));
    let index = bit / BYTE_BITS;
    let pair = (byte(index) << BYTE_BITS) | byte(index + 1);
    let shift = 2 * BYTE_BITS - CHARACTER_BITS - bit % BYTE_BITS;
    alphabet[usize::from((pair >> shift) & 0x3f)]
}
