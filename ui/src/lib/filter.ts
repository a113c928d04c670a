// Filters of lists, in the grammar of the API.

/** A text as a value of a filter. */
export function quoted(text: string): string {
  const escaped = text
    .replace(/[\\"]/g, '\\$&')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t');
  return `"${escaped}"`;
}

/** All of these conditions. Empty ones say nothing. */
export function all(conditions: (string | null | undefined)[]): string {
  const given = conditions.filter((one): one is string => Boolean(one?.trim()));
  if (given.length < 2) return given[0] ?? '';
  return given.map(one => (/\bor\b/i.test(one) ? `(${one})` : one)).join(' AND ');
}

/** `field = "value"`, or nothing. */
export function equals(field: string, value: string | null | undefined): string | null {
  return value ? `${field} = ${quoted(value)}` : null;
}
