// Dead letters that died for the same reason, by their fingerprint; the largest group first.
import type { Schemas } from '@/api/client';

type Action = Schemas['Action'];

export type Group = { fingerprint: string; cause: string; action: string; newest: Action; letters: Action[] };

/** Groups of letters that come newest first. A letter without a fingerprint is a group of its own. */
export function grouped(letters: Action[]): Group[] {
  const groups = new Map<string, Group>();
  for (const letter of letters) {
    const fingerprint = letter.fingerprint ?? letter.id;
    const known = groups.get(fingerprint);
    if (known) known.letters.push(letter);
    else {
      const cause = letter.lastError ? `${letter.lastError.type}: ${letter.lastError.message}` : 'without an error';
      groups.set(fingerprint, {
        fingerprint,
        cause,
        action: `${letter.machine}/${letter.actionId}`,
        newest: letter,
        letters: [letter],
      });
    }
  }
  return [...groups.values()].sort((a, b) => b.letters.length - a.letters.length);
}
