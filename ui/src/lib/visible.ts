// Text from outside may hold characters that hide or reorder what is beside them. They are shown as marks.

/** Control characters but line break and tab, and characters that change the direction of writing. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** The same text with every hidden character as its code, `⟨1b⟩`. */
export function visible(text: string): string {
  return text.replace(UNSEEN, character => `⟨${character.charCodeAt(0).toString(16).padStart(2, '0')}⟩`);
}
