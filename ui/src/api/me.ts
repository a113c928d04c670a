// Who is signed in, and what the caller may do.
import { useQuery } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from './client';
import { keys } from './keys';
import { type RouteName, rolesOf } from './routes';

export type Me = Schemas['Me'];

export function useMe() {
  return useQuery({
    queryKey: keys.me,
    // Every button asks who the caller is: a refusal is not asked about again with each of them.
    retryOnMount: false,
    queryFn: ({ signal }) => unwrap(api.GET('/v1/me', { signal })),
  });
}

/** Why the caller may not use a route, or nothing. */
export function whyNot(me: Me | undefined, route: RouteName): string | null {
  const needed = rolesOf(route);
  if (!me?.authentication || me.roles.includes('admin')) return null;
  if (needed.some(role => me.roles.some(own => own === role))) return null;
  return `Needs the role ${needed.join(' or ')}.`;
}

export function useWhyNot(route: RouteName): string | null {
  const { data } = useMe();
  return whyNot(data, route);
}
