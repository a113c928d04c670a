// JSON Patch (RFC 6902), as far as the API uses it: to show what a suggested fix changes before it is sent.
import type { Schemas } from '@/api/client';

export type PatchOperation = Schemas['PatchOperation'];
type Container = Record<string, unknown> | unknown[];

/** The document after the patch. The document itself stays as it is. */
export function patched(document: unknown, patch: PatchOperation[]): unknown {
  const copy = structuredClone(document);
  for (const operation of patch) apply(copy as Container, operation);
  return copy;
}

function apply(document: Container, operation: PatchOperation): void {
  const keys = operation.path
    .split('/')
    .slice(1)
    .map(key => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = keys.pop();
  if (last === undefined || operation.op === 'test') return;
  const parent = keys.reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], document);
  if (Array.isArray(parent)) applyToList(parent, last, operation);
  else if (typeof parent === 'object' && parent !== null) {
    const members = parent as Record<string, unknown>;
    if (operation.op === 'remove') delete members[last];
    else members[last] = operation.value;
  }
}

function applyToList(list: unknown[], key: string, operation: PatchOperation): void {
  const index = key === '-' ? list.length : Number(key);
  if (operation.op === 'remove') list.splice(index, 1);
  else if (operation.op === 'add') list.splice(index, 0, operation.value);
  else if (operation.op === 'replace') list[index] = operation.value;
}
