// What this version of the API offers, and to whom: read from the generated table, so that a feature appears with its route.
import { ROUTES } from './generated/routes';

export type RouteName = `${'GET' | 'POST' | 'PUT' | 'DELETE'} /v1/${string}`;

export function has(route: RouteName): boolean {
  return route in ROUTES;
}

/** Whether a route takes a query parameter, and a value of it. */
export function takes(route: RouteName, parameter: string, value?: string): boolean {
  const values = ROUTES[route]?.query[parameter];
  return values !== undefined && (value === undefined || values.includes(value));
}

/** The roles of which a caller needs one. */
export function rolesOf(route: RouteName): string[] {
  return ROUTES[route]?.roles ?? [];
}
