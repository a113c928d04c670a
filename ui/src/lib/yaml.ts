// Machines as YAML, the way people write them. The server keeps machines as JSON; both say the same.
import { Document, isCollection, parse, visit } from 'yaml';

/** A collection that fits on so many characters stands on one line. */
const LINE_MAX = 88;

export function toYaml(value: unknown): string {
  const document = new Document(value);
  visit(document, {
    Collection(_, node, path) {
      // The parts of a machine stand on lines of their own, however short they are.
      const isDeep = path.length > 4;
      const text = JSON.stringify(node.toJSON());
      if (isDeep && text.length <= LINE_MAX && node.items.length > 0) node.flow = true;
      return isCollection(node) && node.flow ? visit.SKIP : undefined;
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: true });
}

/** A text as the machine that it may be, or nothing. The server says what is wrong with it. */
export function parseDraft(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
