// State of a page that is part of its address, so that a reload, a bookmark or a colleague sees the same.
import { useCallback } from 'react';
import { useSearchParams } from 'react-router';

/** One parameter of the address. An empty value leaves it out. Every setter changes the newest address. */
export function useParam(name: string, otherwise = ''): [string, (value: string) => void] {
  const [params, setParams] = useSearchParams();
  const set = useCallback(
    (value: string) => {
      setParams(
        before => {
          const next = new URLSearchParams(before);
          if (value && value !== otherwise) next.set(name, value);
          else next.delete(name);
          return next;
        },
        { replace: true },
      );
    },
    [name, otherwise, setParams],
  );
  return [params.get(name) ?? otherwise, set];
}

/** A path with its parameters; those without a value are left out. */
export function address(path: string, params: Record<string, string | undefined>): string {
  const given = Object.entries(params).filter((one): one is [string, string] => Boolean(one[1]));
  return given.length > 0 ? `${path}?${new URLSearchParams(given)}` : path;
}
