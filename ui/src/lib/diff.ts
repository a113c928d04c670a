// What differs between two texts, line by line.
export type Line = { kind: 'same' | 'removed' | 'added'; text: string };

/** Beyond this many pairs of lines the comparison would block the page. */
const PAIRS_MAX = 4_000_000;

export function diffLines(before: string, after: string): Line[] {
  const old = before.split('\n');
  const fresh = after.split('\n');
  if (old.length * fresh.length > PAIRS_MAX) {
    return [
      ...old.map(text => ({ kind: 'removed' as const, text })),
      ...fresh.map(text => ({ kind: 'added' as const, text })),
    ];
  }
  const lengths = commonLengths(old, fresh);
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < fresh.length) {
    const left = old[i];
    const right = fresh[j];
    if (left !== undefined && left === right) {
      lines.push({ kind: 'same', text: left });
      i += 1;
      j += 1;
    } else if (right === undefined || (left !== undefined && length(lengths, i + 1, j) >= length(lengths, i, j + 1))) {
      lines.push({ kind: 'removed', text: left ?? '' });
      i += 1;
    } else {
      lines.push({ kind: 'added', text: right });
      j += 1;
    }
  }
  return lines;
}

function length(lengths: Uint32Array[], i: number, j: number): number {
  return lengths[i]?.[j] ?? 0;
}

/** How many lines the rests of both texts have in common, for every pair of places. */
function commonLengths(old: string[], fresh: string[]): Uint32Array[] {
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint32Array(fresh.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    const row = lengths[i] as Uint32Array;
    for (let j = fresh.length - 1; j >= 0; j -= 1) {
      row[j] =
        old[i] === fresh[j]
          ? length(lengths, i + 1, j + 1) + 1
          : Math.max(length(lengths, i + 1, j), length(lengths, i, j + 1));
    }
  }
  return lengths;
}

/** Only what changed, with a few lines around it. A gap is null. */
export function hunks(lines: Line[], around = 3): (Line | null)[] {
  const near = lines.map((_, index) =>
    lines.slice(Math.max(0, index - around), index + around + 1).some(one => one.kind !== 'same'),
  );
  return lines.flatMap((line, index) => {
    if (near[index]) return [line];
    return near[index - 1] || index === 0 ? [null] : [];
  });
}
