// Sentences of the server, in which backticks stand around values.
import { visible } from '@/lib/visible';

export function Prose({ text }: { text: string }) {
  // Every other part stands between backticks.
  const parts = sentence(text).split('`');
  return parts.map((part, index) => (index % 2 === 1 ? <code key={index}>{visible(part)}</code> : visible(part)));
}

/** A fragment as a sentence: the server begins its texts in lower case. */
export function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
