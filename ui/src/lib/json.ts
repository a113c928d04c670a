// JSON that a person types: parsed, or why it cannot be.

type Parsed<T> = { value: T; error?: undefined } | { value?: undefined; error: string };

export function parseJson(text: string): Parsed<{ of: unknown }> {
  try {
    return { value: { of: JSON.parse(text) } };
  } catch (error) {
    return { error: `This is not JSON: ${error instanceof Error ? error.message : 'unknown reason'}` };
  }
}

/** An object, such as variables or a configuration. */
export function parseObject(text: string): Parsed<Record<string, unknown>> {
  const parsed = parseJson(text);
  if (!parsed.value) return parsed;
  const { of } = parsed.value;
  if (typeof of !== 'object' || of === null || Array.isArray(of)) return { error: 'This must be an object: { … }' };
  return { value: of as Record<string, unknown> };
}
